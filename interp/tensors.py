"""Tensors of a model as arrays: dense, packed and sparse ones, and data in files beside the model.

Everything that a tensor claims about its size is checked against what is really there before anything is allocated.
"""
from __future__ import annotations

import math
import os
import re
import stat
import sys
from collections.abc import Iterable
from mmap import ACCESS_READ, mmap
from typing import Any

import numpy as np

from .errors import ModelError
from .types import ELEMENTS, OF_CODE, type_of

LARGEST = 1 << 62  # bytes; NumPy's sizes are signed 64-bit numbers
LARGEST_SPARSE = 1 << 31  # what a dense tensor in a protobuf file can have at the most
LARGEST_RANK = 64
LOOSE = 1 << 16  # bytes from which an array stays where it lies, though it be unaligned: what needs it otherwise copies it
SMALL_FILE = 1 << 16  # not worth a mapping, which would keep the file open

FIELDS = {"float": "float_data", "complex64": "float_data", "double": "double_data", "complex128": "double_data",
          "int64": "int64_data", "uint32": "uint64_data", "uint64": "uint64_data", "string": "string_data"}


class Folder:
    """The files beside a model: regular ones inside its folder or a trusted one, each opened once.

    Links are refused outside the trusted folders, symbolic and hard: a model from a stranger could otherwise name any file
    that its reader may read.
    """

    def __init__(self, path: str | None, trusted: Iterable[str | os.PathLike] = ()):
        self._path = None if path is None else os.path.realpath(path)
        self._trusted = [os.path.realpath(t) for t in trusted]
        self._opened: dict[str, np.ndarray] = {}

    @property
    def files(self) -> list[str]:
        """The paths of those that were opened."""
        return list(self._opened)

    def read(self, tensor: Any, size: int) -> np.ndarray:
        """The bytes of a tensor with external data, ``size`` of them, mapped read-only."""
        given = {e.key: e.value for e in tensor.external_data}
        location = given.get("location", "")
        what = f"tensor {tensor.name!r}, external data {location!r}"
        offset = _number(given.get("offset") or "0", f"{what}: offset")
        length = _number(given.get("length") or str(size), f"{what}: length")
        if length != size:
            raise ModelError(f"{what}: length is {length} bytes, its shape and type need {size}")
        data = self._open(location, what)
        if offset + size > data.size:
            raise ModelError(f"{what}: needs bytes {offset} to {offset + size}, the file has {data.size}")
        return data[offset:offset + size]

    def _open(self, location: str, what: str) -> np.ndarray:
        if self._path is None:
            raise ModelError(f"{what}: a model given as bytes has no folder to look in; give the path of the model instead")
        if not isinstance(location, str) or not location or "\0" in location or os.path.isabs(location) or "\\" in location:
            raise ModelError(f"{what}: must be a path relative to the model")
        named = os.path.normpath(os.path.join(self._path, location))
        try:
            real = os.path.realpath(named)
        except (OSError, ValueError) as e:
            raise ModelError(f"{what}: {e}") from e
        if real not in self._opened:
            trusted = next((t for t in self._trusted if _inside(real, t)), None)
            if trusted is None and not _inside(real, self._path):
                raise ModelError(f"{what}: lies outside the model's folder; name its folder as trusted if that is meant")
            if trusted is None and real != named:
                raise ModelError(f"{what}: is reached by a symbolic link; name the folder that it leads to as trusted "
                                 "if that is meant")
            try:
                self._opened[real] = _map(trusted or self._path, real, what, links=trusted is not None)
            except OSError as e:
                raise ModelError(f"{what}: {e.strerror}") from e
        return self._opened[real]


def _number(text: str, what: str) -> int:
    if not isinstance(text, str) or not re.fullmatch("[0-9]{1,19}", text):
        raise ModelError(f"{what} must be a whole number and not negative, it is {text!r}")
    return int(text)


def _inside(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _map(folder: str, path: str, what: str, links: bool) -> np.ndarray:
    """The bytes of a regular file. What is checked is what was opened, even if someone swaps files meanwhile."""
    *parents, last = os.path.relpath(path, folder).split(os.sep)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parents:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = inner
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise ModelError(f"{what}: is not a regular file")
        if facts.st_nlink > 1 and not links:
            raise ModelError(f"{what}: has more than one hard link; name its folder as trusted if that is meant")
        if facts.st_size <= SMALL_FILE:
            with open(file, "rb", closefd=False) as opened:
                return np.frombuffer(opened.read(facts.st_size), np.uint8)
        return np.frombuffer(mapped(file, facts.st_size), np.uint8)
    finally:
        os.close(file)


def mapped(file: int, size: int) -> mmap:
    """The bytes of an open file, which stay where they are until someone looks at them."""
    descriptor: dict[str, Any] = {} if sys.version_info < (3, 13) else {"trackfd": False}
    return mmap(file, size, access=ACCESS_READ, **descriptor)


def array(tensor: Any, folder: Folder) -> np.ndarray:
    """A TensorProto as a read-only array, a large one as it lies in the file, unaligned perhaps; strings as objects (str)."""
    what = f"tensor {tensor.name!r}"
    kind = OF_CODE.get(tensor.data_type)
    if kind is None:
        raise ModelError(f"{what}: there is no element type {tensor.data_type}")
    if tensor.HasField("segment"):
        raise ModelError(f"{what}: is stored in segments; save the model with whole tensors")
    element = ELEMENTS[kind[7:-1]]
    shape = checked_shape(tensor.dims, element.dtype.itemsize, what)
    count = math.prod(shape)
    if element.dtype == object:
        made = _strings(tensor, count, what)
    else:
        data = _data(tensor, kind[7:-1], count, folder, what)
        made = _elements(data, element.dtype, element.bits, count)
    made = made.reshape(shape)
    made.flags.writeable = False
    return made


def checked_shape(dims: Iterable[int], itemsize: int, what: str) -> tuple[int, ...]:
    """Dimensions that an array can have."""
    shape = tuple(dims)
    if shape and min(shape) < 0:
        raise ModelError(f"{what}: has a negative size: {list(shape)}")
    if len(shape) > LARGEST_RANK or math.prod([d or 1 for d in shape]) * itemsize > LARGEST:
        raise ModelError(f"{what}: is too large: {list(shape)}")
    return shape


def _strings(tensor: Any, count: int, what: str) -> np.ndarray:
    if tensor.data_location or len(tensor.string_data) != count:
        raise ModelError(f"{what}: has {len(tensor.string_data)} strings in string_data, its shape needs {count}")
    made = np.empty(count, object)
    made[:] = [s.decode("utf-8", "surrogateescape") for s in tensor.string_data]
    return made


def _data(tensor: Any, element: str, count: int, folder: Folder, what: str) -> np.ndarray:
    """The bytes of all elements, packed as a file has them."""
    bits = ELEMENTS[element].bits
    size = (count * bits + 7) // 8
    if tensor.data_location:
        return folder.read(tensor, size)
    if tensor.HasField("raw_data"):
        raw = tensor.raw_data
        if len(raw) != size:
            raise ModelError(f"{what}: has {len(raw)} bytes, its shape and type need {size}")
        return np.frombuffer(raw, np.uint8)
    name = FIELDS.get(element, "int32_data")
    values = getattr(tensor, name)
    due = size if bits < 5 else count * 2 if element.startswith("complex") else count
    if len(values) != due:
        raise ModelError(f"{what}: has {len(values)} values in {name}, its shape and type need {due}")
    if name in ("float_data", "double_data"):
        return np.asarray(values, "f4" if name == "float_data" else "f8").view(np.uint8)
    wide = np.asarray(values, {"int32_data": "i4", "int64_data": "i8", "uint64_data": "u8"}[name])
    if bits == 6:
        return np.packbits(np.unpackbits(wide.astype("u1")[:, None], axis=1, bitorder="little")[:, :6], bitorder="little")
    return wide.astype(f"u{max(bits // 8, 1)}").view(np.uint8)


def _elements(data: np.ndarray, dtype: np.dtype, bits: int, count: int) -> np.ndarray:
    if bits == 6:
        bit = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
        return np.packbits(bit, axis=1, bitorder="little").reshape(count).view(dtype)
    if bits < 8:
        each = [data >> shift & ((1 << bits) - 1) for shift in range(0, 8, bits)]
        return np.stack(each, axis=-1).reshape(-1)[:count].view(dtype)
    if dtype.kind == "b":
        return data != 0
    made = data.view(dtype)
    return made if made.flags.aligned or made.nbytes >= LOOSE else made.copy()


def packed(array: np.ndarray) -> np.ndarray:
    """The bytes of an array's elements as a file has them: those of less than a byte share bytes."""
    bits, codes = ELEMENTS[type_of(array)[len("tensor("):-1]].bits, np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    if bits >= 8:
        return codes
    if bits == 6:
        return np.packbits(np.unpackbits(codes[:, None], axis=1, count=bits, bitorder="little"), bitorder="little")
    each = np.zeros((-(-codes.size * bits // 8), 8 // bits), np.uint8)
    each.reshape(-1)[:codes.size] = codes & (1 << bits) - 1
    return np.bitwise_or.reduce(each << np.arange(0, 8, bits, dtype=np.uint8), axis=1)


def dense(sparse: Any, folder: Folder) -> np.ndarray:
    """A SparseTensorProto as a dense, read-only array."""
    what = f"sparse tensor {sparse.values.name!r}"
    values, indices = array(sparse.values, folder), array(sparse.indices, folder)
    shape = checked_shape(sparse.dims, values.itemsize, what)
    if math.prod(shape) * values.itemsize > LARGEST_SPARSE:
        raise ModelError(f"{what}: is too large to be made dense: {list(shape)}")
    rank = len(shape)
    if values.ndim != 1 or indices.dtype != np.int64 or indices.shape not in ((values.size,), (values.size, rank)):
        raise ModelError(f"{what}: {list(values.shape)} values do not go with {list(indices.shape)} indices of {indices.dtype}")
    limits = np.array([math.prod(shape)] if indices.ndim == 1 else shape, np.int64)
    if ((indices < 0) | (indices >= limits)).any():
        raise ModelError(f"{what}: an index lies outside its shape {list(shape)}")
    made = np.zeros(shape, values.dtype)
    if values.dtype == object:
        made.fill("")
    if indices.ndim == 1:
        made.reshape(-1)[indices] = values
    else:
        made[tuple(indices.T)] = values
    made.flags.writeable = False
    return made
