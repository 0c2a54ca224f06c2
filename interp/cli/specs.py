"""What a SPEC stands for: files of many kinds, generators and literals become arrays of an input's type."""
from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from interp.cli.options import low_high, sizes
from interp.errors import InputError, UsageError, nearest_or_all
from interp.loading import near
from interp.types import DTYPE, ELEMENTS, as_map

Shape = tuple[int | None, ...] | None
SHORT = {"f16": "float16", "f32": "float", "f64": "double", "bf16": "bfloat16", "float32": "float", "float64": "double",
         **{f"{letter}{bits}": f"{kind}{bits}" for letter, kind in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}}
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
FILES = (".npy", ".npz", ".pb", ".json", ".txt", ".csv", *IMAGES)


@dataclass(frozen=True)
class Settings:
    """What the command line says about inputs that are made, or read from images."""

    limits: tuple[float, float] | None
    rng: np.random.Generator
    seed: int
    resize: tuple[int, ...] | None
    layout: str | None
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def said(self) -> str:
        return f"random, seed {self.seed}"


def dtype_of(value: Any) -> np.dtype:
    """The NumPy type of a tensor, also of one in a sequence or an optional."""
    return DTYPE[value.type[value.type.rindex("tensor("):].rstrip(")") + ")"]


def has_shape(text: str) -> bool:
    """Whether a SPEC brings a shape of its own."""
    return text not in ("zeros", "ones", "arange") and not text.startswith("rand")


def read(text: str, value: Any, shape: Shape, settings: Settings, whole: Callable[[], tuple[int, ...]]) -> tuple[Any, str]:
    """The array that a SPEC stands for, and what to call its source; ``whole()`` has no open sizes."""
    path, key = _file(text)
    if path is not None:
        if path.suffix.lower() in IMAGES:
            from interp.cli import images  # pillow may be absent

            return images.read(path, value, dtype_of(value), shape, settings), text
        return from_file(path, key, value, shape), text
    if not has_shape(text):
        known = None if shape is None else tuple(d for d in shape if d is not None)
        return _generated(text, dtype_of(value), known if known is not None and known == shape else whole(), settings)
    name, bracket, rest = text.partition("[")
    if bracket and rest.endswith("]") and (name in SHORT or name in ELEMENTS):
        dtype = ELEMENTS[SHORT.get(name, name)].dtype
        return random(dtype, _said(sizes, "[" + rest), settings), settings.said()
    return _literal(text, value, shape), "literal"


def _file(text: str) -> tuple[Path | None, str | None]:
    """The file that a SPEC names, and the key after a colon."""
    head, _, key = text.rpartition(":")
    for name, inside in ((text, None), (head, key)):
        if Path(name).suffix.lower() in FILES and not name.startswith(("[", '"')):
            return Path(name), inside
    return None, None


def _generated(text: str, dtype: np.dtype, shape: tuple[int, ...], settings: Settings) -> tuple[np.ndarray, str]:
    word, _, limits = text.partition(":")
    if word == "rand":
        low_and_high = _said(low_high, limits) if limits else settings.limits
        return random(dtype, shape, settings, low_and_high), settings.said()
    if dtype.kind == "O":
        raise InputError(f"{text} makes numbers, the input takes strings; give a literal such as [\"a\", \"b\"]")
    with making(shape):
        if text == "arange":
            return np.arange(prod(shape)).astype(dtype).reshape(shape), text
        return np.full(shape, text == "ones", dtype), text


def _said(kind: Callable[[str], Any], text: str) -> Any:
    try:
        return kind(text)
    except ArgumentTypeError as problem:
        raise UsageError(f"{text}: {problem}") from None


def random(dtype: np.dtype, shape: tuple[int, ...], settings: Settings, limits: tuple[float, float] | None = None) -> np.ndarray:
    """Uniform numbers: 0 to 1, all of a byte, or between the limits (whole numbers: both included)."""
    with making(shape):
        return _random(dtype, shape, settings, limits)


@contextmanager
def making(shape: Sequence[int]) -> Iterator[None]:
    """An array too large for this machine is bad input."""
    try:
        yield
    except (MemoryError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"an array of shape {list(shape)} cannot be made: {problem}") from problem


def _random(dtype: np.dtype, shape: tuple[int, ...], settings: Settings, limits: tuple[float, float] | None) -> np.ndarray:
    low, high = limits or settings.limits or (0, 1)
    if dtype.kind == "O":
        raise InputError("strings cannot be random; give a literal such as [\"a\", \"b\"]")
    if dtype.kind == "b":
        return settings.rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        if dtype.itemsize == 1 and not (limits or settings.limits):
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if not np.iinfo(dtype).min <= low <= high <= min(np.iinfo(dtype).max, np.iinfo(np.int64).max):
            raise UsageError(f"{low:g}:{high:g} is more than {dtype.name} holds")
        return settings.rng.integers(round(low), round(high), shape, np.int64, endpoint=True).astype(dtype)
    with np.errstate(over="ignore"):
        return settings.rng.uniform(low, high, shape).astype(dtype)


def _literal(text: str, value: Any, shape: Shape) -> Any:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        if "tensor(string)" in value.type:
            raise InputError(f"{value.name} takes strings, {text} is none; they are given between quotes, in a shell as "
                             f"-i '{value.name}=[\"a\", \"b\"]'") from None
        raise InputError(f"{value.name}={text}: neither a file ({', '.join(FILES)}) nor zeros, ones, arange, rand, f32[1,3] "
                         f"or a literal such as [1,2,3]{nearest_or_all(text, ['zeros', 'ones', 'arange', 'rand'])}") from None
    return converted(parsed, value, shape)


def from_file(path: Path, key: str | None, value: Any, shape: Shape = None) -> Any:
    """What a file that is no image holds, for one input or output."""
    suffix = path.suffix.lower()
    with _reading(path):
        if suffix == ".npy":
            return _strings(np.load(path, allow_pickle=False))
        if suffix == ".npz":
            return _entry(path, key, value.name)
        if suffix == ".pb":
            return _protobuf(path, value.type)
        if suffix == ".json":
            return converted(json.loads(path.read_text(encoding="utf-8")), value, shape)
        return _text(path, value, shape)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file is wrong with the input."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file{near(str(path))}") from None
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from problem
    except (ValueError, EOFError, BadZipFile, MemoryError, RecursionError) as problem:
        raise InputError(f"{path}: {problem}") from problem


def _entry(path: Path, key: str | None, name: str) -> np.ndarray:
    arrays = _archive(path)
    wanted = key or (next(iter(arrays)) if len(arrays) == 1 else name)
    if not key and wanted not in arrays:
        wanted = _numbered(arrays, "input").get(wanted, wanted)
    if wanted not in arrays:
        choice = "" if key else f"; {path}:KEY takes one"
        raise InputError(f"{path} has no array {wanted}{nearest_or_all(wanted, arrays)}{choice}")
    return arrays[wanted]


def _archive(path: Path) -> dict[str, np.ndarray]:
    with _reading(path), np.load(path, allow_pickle=False) as archive:
        return {name: _strings(archive[name]) for name in archive.files}


def _numbered(arrays: dict[str, np.ndarray], kind: str) -> dict[str, str]:
    """The keys of an archive that has in0, in1 … or out0, out1 …, by the names that in_names or out_names lists."""
    prefix = kind.removesuffix("put")
    names = arrays.get(f"{prefix}_names", np.empty(0, object)).ravel()
    keys = {str(name): f"{prefix}{k}" for k, name in enumerate(names)}
    return keys if arrays.keys() >= set(keys.values()) else {}


def _strings(array: np.ndarray) -> np.ndarray:
    """NumPy files hold strings of fixed width; ONNX strings are objects."""
    return array.astype(object) if array.dtype.kind in "US" else array


def _narrowed(array: np.ndarray, value: Any) -> np.ndarray:
    """An array as the type that a value declares, where that is one that NumPy files cannot hold and no number changes by it."""
    dtype = DTYPE.get(value.type or "") if value is not None else None
    if dtype is None or dtype.type.__module__ == "numpy" or array.dtype not in (np.float32, np.int8):
        return array
    made = array.astype(dtype)
    return made if np.array_equal(made.astype(array.dtype), array, equal_nan=array.dtype == np.float32) else array


def _protobuf(path: Path, kind: str) -> Any:
    """A TensorProto, a SequenceProto or an OptionalProto, as the type says."""
    import onnx
    from google.protobuf.message import DecodeError

    readers: dict[str, tuple[Any, Any]] = {"seq": (onnx.SequenceProto, onnx.numpy_helper.to_list),
                                           "opt": (onnx.OptionalProto, onnx.numpy_helper.to_optional)}
    message, convert = readers.get(kind[:3], (onnx.TensorProto, onnx.numpy_helper.to_array))
    proto = message()
    try:
        proto.ParseFromString(path.read_bytes())
        if any(tensor.external_data for tensor in _tensors(proto)):
            raise InputError(f"{path}: its values lie in another file, which is not followed")
        return convert(proto)
    except (DecodeError, TypeError) as problem:
        raise InputError(f"{path} is not a {message.__name__}: {problem}") from problem


def _tensors(proto: Any) -> Iterator[Any]:
    """Every TensorProto in a message."""
    if proto.DESCRIPTOR.name == "TensorProto":
        yield proto
    for field, held in proto.ListFields():
        if field.message_type is not None:
            for inner in [held] if hasattr(held, "ListFields") else held:
                yield from _tensors(inner)


def _text(path: Path, value: Any, shape: Shape) -> np.ndarray:
    """Rows of numbers, between commas or blanks; lines, where the input takes strings."""
    if dtype_of(value).kind == "O":
        return converted(path.read_text(encoding="utf-8").splitlines(), value, shape)
    delimiter = "," if path.suffix.lower() == ".csv" else None
    return converted(np.loadtxt(path, delimiter=delimiter, ndmin=2, comments="#").tolist(), value, shape)


def converted(parsed: Any, value: Any, shape: Shape) -> Any:
    """What JSON or a text holds, in the type of the input; a value that does not fit there is an error."""
    if parsed is None and value.type.startswith("optional("):
        return None
    if "map(" in value.type:
        return _mapped(parsed, value.type, value.name)
    if "seq(" in value.type:
        if not isinstance(parsed, list):
            raise InputError(f"{value.name} is a {value.type}; give a list of its tensors, such as [[1,2],[3]]")
        return [_tensor(item, value, None) for item in parsed]
    return _tensor(parsed, value, shape)


def _tensor(parsed: Any, value: Any, shape: Shape) -> np.ndarray:
    dtype = dtype_of(value)
    try:
        given = np.array(parsed, object if dtype.kind == "O" else None)
        array = given.astype(dtype)
    except (ValueError, TypeError, OverflowError) as problem:
        raise InputError(f"{value.name}: {problem}") from None
    if dtype.kind == "O":
        if wrong := [item for item in array.ravel() if not isinstance(item, str)]:
            raise InputError(f"{value.name} takes strings, {wrong[0]!r} is none")
    elif given.dtype.kind not in "biuf" or dtype.kind in "iu" and (array.astype(given.dtype) != given).any():
        raise InputError(f"{value.name}: {parsed if given.size < 9 else 'some of these values'} cannot be {dtype.name}")
    return _fitted(array, shape)


def example(kind: str) -> str:
    """A literal of a type that is no tensor's."""
    if "map(" in kind:
        item = '{"a":1}' if "map(string" in kind else '{"0":1}'
        return f"[{item}]" if "seq(" in kind else item
    return "[[1,2],[3]]" if "seq(" in kind else "null"


def _mapped(parsed: Any, kind: str, name: str) -> Any:
    """A map, or a list of maps; JSON has strings for keys of any type."""
    try:
        if kind.startswith("seq("):
            return [_mapped(item, kind[4:-1], name) for item in parsed]
        return as_map(parsed if kind.startswith("map(string") else {int(k): v for k, v in parsed.items()}, kind)
    except (ValueError, TypeError, AttributeError, KeyError) as problem:
        raise InputError(f"{name}: {kind} is due; {problem}") from None


def _fitted(array: np.ndarray, shape: Shape) -> np.ndarray:
    """Text has no shape to speak of: it takes the input's where the ranks differ and at most one size is open."""
    if shape is None or len(shape) == array.ndim or sum(d is None for d in shape) > 1:
        return array
    try:
        return array.reshape([-1 if d is None else d for d in shape])
    except ValueError:
        return array


def _held(arrays: dict[str, np.ndarray], key: str, value: Any) -> Any:
    """What an archive holds for a value: an array, or JSON where KEY_kind says so, for what is no tensor."""
    if value is not None and str(arrays.get(f"{key}_kind", "")) == "json":
        return converted(json.loads(str(arrays[key])), value, None)
    return _narrowed(arrays[key], value)


def stored(place: str, kind: str, values: Sequence[Any]) -> dict[str, tuple[Any, str]]:
    """The arrays of an archive or a folder by name: NAME.npy, or ``kind``_0.pb … in the order of the values.

    An archive may also number them, as in0, in1 … and out0, out1 …, beside their names in in_names and out_names.
    """
    path = Path(place)
    by_name = {v.name: v for v in values}
    if path.is_file() and path.suffix == ".npz":
        arrays = _archive(path)
        keys = {} if arrays.keys() & by_name.keys() else _numbered(arrays, kind)
        with _reading(path):
            return {name: (_held(arrays, key, by_name.get(name)), f"{place}:{key}")
                    for name, key in (keys or {name: name for name in arrays}).items()}
    if path.is_file() and path.suffix in (".npy", ".pb") and len(values) == 1:
        return {values[0].name: (from_file(path, None, values[0]), place)}
    if not path.exists():
        raise InputError(f"{place}: there is no such file or folder{near(place)}")
    if not path.is_dir():
        raise InputError(f"{place} is neither a folder nor an .npz file")
    archives = [p for p in (path / f"{kind}s.npz", path / f"{kind}.npz") if p.is_file()]
    if archives:
        return stored(str(archives[0]), kind, values)
    numbered = {i: path / f"{kind}_{i}.pb" for i in range(len(values)) if (path / f"{kind}_{i}.pb").is_file()}
    found = {values[i].name: p for i, p in numbered.items()}
    found |= {p.stem: p for p in sorted(path.glob("*.npy")) if p.stem in by_name}
    if not found:
        inner = sorted(str(p) for p in path.glob("test_data_set_*") if p.is_dir())
        if inner:
            raise InputError(f"{place} holds sets of data; name one of them: {', '.join(inner[:3])}")
        raise InputError(f"{place} holds neither {kind}_0.pb nor {kind}s.npz nor NAME.npy{nearest_or_all('', by_name)}")
    return {name: (from_file(p, None, by_name[name]), str(p)) for name, p in found.items()}
