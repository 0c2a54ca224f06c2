"""Values as onnxruntime hands them about: an OrtValue holds an array, a sequence or a map, in the memory of the processor."""
from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ...types import DTYPE, ELEMENTS, OF_CODE, type_of
from .faults import NotImplemented

DEVICES = {"cpu": 0, "cuda": 1, "gpu": 1, "webgpu": 1, "cann": 3, "npu": 3, "dml": 4}
ELSEWHERE = ("Can't allocate memory on the device: interp, which stands in for onnxruntime, runs on the CPU alone; "
             "give the device as 'cpu'")


class OrtDeviceVendorId(IntEnum):
    """The PCI numbers of who makes devices."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


class OrtDevice:
    """A device, of which only the CPU can hold values here."""

    def __init__(self, kind: int | OrtDevice, memory: int = 0, *numbers: int):
        given = (kind.device_type(), kind.device_mem_type(), kind.device_vendor_id(), kind.device_id()) if isinstance(
            kind, OrtDevice) else (kind, memory, numbers[0] if len(numbers) > 1 else 0, numbers[-1] if numbers else 0)
        self._kind, self._memory, self._vendor, self._id = given

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by the name of its kind. Raises Exception where there is no such kind."""
        return OrtDevice(kind_of(ort_device_name), 0, max(int(vendor_id), 0), device_id)

    def device_id(self) -> int:
        return self._id

    def device_type(self) -> int:
        return self._kind

    def device_vendor_id(self) -> int:
        return self._vendor

    vendor_id = device_vendor_id

    def device_mem_type(self) -> int:
        return self._memory

    mem_type = device_mem_type

    def _get_c_device(self) -> OrtDevice:
        return self


for _name, _number in DEVICES.items():  # C.OrtDevice.cuda() is the number of that kind
    setattr(OrtDevice, _name, staticmethod(lambda number=_number: number))
OrtDevice.default_memory = staticmethod(lambda: 0)  # type: ignore[attr-defined]


def kind_of(device: str) -> int:
    """The number of a kind of device."""
    if device not in DEVICES:
        raise Exception(f"Unsupported device type: {device}")
    return DEVICES[device]


def here(device: str) -> None:
    """Refuse any device but the CPU."""
    if kind_of(device):
        raise RuntimeError(ELSEWHERE)


class OrtValue:
    """A value of a model: a tensor, a sequence, a map, or an optional without a value (None)."""

    def __init__(self, ortvalue: Any, numpy_obj: Any = None, session: Any = None):
        self._value: Any = ortvalue._value if isinstance(ortvalue, OrtValue) else ortvalue

    @property
    def _ortvalue(self) -> OrtValue:
        return self

    def _get_c_value(self) -> OrtValue:
        return self

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: np.ndarray, /, device_type: str = "cpu", device_id: int = 0,
                            vendor_id: int = -1) -> OrtValue:
        """A tensor over the memory of an array of numbers; one that is not contiguous is copied."""
        here(device_type)
        if not isinstance(numpy_obj, np.ndarray) or numpy_obj.dtype.kind in "OUS":
            raise RuntimeError("Creation of OrtValues is currently only supported from non-string numpy arrays")
        if type_of(numpy_obj) not in DTYPE:
            raise RuntimeError(f"NumPy type {numpy_obj.dtype} can't be converted to one of ONNX's.")
        return cls(np.asarray(numpy_obj, numpy_obj.dtype.newbyteorder("="), order="C"))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: np.ndarray, /, onnx_element_type: int) -> OrtValue:
        """A tensor over the bytes of an array, of an element type by its ONNX number: how bfloat16 is given as uint16."""
        dtype = element_of(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize:
            raise RuntimeError(f"The element size of {dtype} is {dtype.itemsize}, that of the array {data.dtype.itemsize}")
        return cls(np.ascontiguousarray(data).view(dtype))

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0,
                                     vendor_id: int = -1, memory_info: Any = None) -> OrtValue:
        """A tensor of zeros; the element type is NumPy's, or an ONNX number."""
        here(device_type)
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Sizes are 0 or more, not {list(shape)}")
        return cls(np.zeros(tuple(shape), element_of(element_type)))

    @classmethod
    def ort_value_from_sparse_tensor(cls, sparse_tensor: Any) -> OrtValue:
        """Refused."""
        raise no_sparse()

    @classmethod
    def from_dlpack(cls, data: Any, /) -> OrtValue:
        """A tensor over the memory of another library's, which must lie on the CPU."""
        if not hasattr(data, "__dlpack__"):
            raise TypeError("give an object with __dlpack__, not a bare capsule")
        return cls(np.from_dlpack(data))

    def as_sparse_tensor(self) -> Any:
        """Refused."""
        raise no_sparse()

    def numpy(self) -> np.ndarray:
        """The array, over the same memory. RuntimeError where the value is no tensor."""
        if not isinstance(self._value, np.ndarray):
            raise RuntimeError("Only OrtValues that are Tensors are currently supported")
        return self._value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.numpy(), dtype) if copy is None else np.array(self.numpy(), dtype, copy=copy)

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self.numpy().__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()

    def to_dlpack(self) -> Any:
        """The DLPack capsule."""
        return self.__dlpack__()

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.numpy().ctypes.data

    def device_name(self) -> str:
        return "cpu"

    def shape(self) -> list[int]:
        return list(self.numpy().shape)

    def data_type(self) -> str:
        """The type as in "tensor(float)"."""
        return spelt(type_of(self._value))

    def element_type(self) -> int:
        """The ONNX number of the element type."""
        return ELEMENTS[type_of(self.numpy())[7:-1]].code

    def tensor_size_in_bytes(self) -> int:
        return self.numpy().nbytes

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list) and not any(isinstance(v, dict) for v in self._value)

    def update_inplace(self, data: np.ndarray | OrtValue) -> None:
        """Write other elements of the same type and number into the tensor's memory."""
        given = data.numpy() if isinstance(data, OrtValue) else data
        if not isinstance(given, np.ndarray):
            raise TypeError("data must be a numpy.ndarray or an OrtValue.")
        mine = self.numpy()
        if given.size != mine.size or given.dtype != mine.dtype:
            raise RuntimeError("The input size of numpy arrays does not match the size of the OrtValue: "
                               f"{given.dtype}{list(given.shape)} came, {mine.dtype}{list(mine.shape)} is due.")
        mine[...] = given.reshape(mine.shape)


class OrtValueVector(list):
    """Several values."""

    def push_back(self, value: OrtValue) -> None:
        self.append(value)


class SparseTensor:
    """A sparse tensor, which no run takes or gives here: both ways of making one are refused."""

    def __init__(self, sparse_tensor: Any):
        raise no_sparse()

    @classmethod
    def sparse_coo_from_numpy(cls, dense_shape: Any, values: Any, coo_indices: Any, ort_device: Any) -> SparseTensor:
        raise no_sparse()

    @classmethod
    def sparse_csr_from_numpy(cls, dense_shape: Any, values: Any, inner_indices: Any, outer_indices: Any,
                              ort_device: Any) -> SparseTensor:
        raise no_sparse()


def no_sparse() -> Exception:
    return NotImplemented.saying("sparse tensors do not go in or out here; give the dense one")


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: Any = None) -> None:
    """Write tensors into others."""
    for s, d in zip(src, dst, strict=True):
        d.update_inplace(s)


def element_of(kind: Any) -> np.dtype:
    """The NumPy type of an element type, which is given by its ONNX number or as NumPy has it."""
    if isinstance(kind, int):
        if kind not in OF_CODE:
            raise RuntimeError(f"{kind} is no number of an ONNX element type")
        return DTYPE[OF_CODE[kind]]
    return np.dtype(kind)


def at_address(address: int, shape: Sequence[int], kind: Any) -> np.ndarray:
    """An array over memory that the caller keeps alive."""
    dtype = element_of(kind)
    count = math.prod(shape) * dtype.itemsize
    memory: Any = (ctypes.c_char * count).from_address(address)
    return np.frombuffer(memory, dtype).reshape(tuple(shape))


def spelt(kind: str | None) -> str:
    """A type in onnxruntime's words, where what a map holds is a tensor: map(int64,tensor(float))."""
    if kind and "map(" in kind:
        head, _, rest = kind.partition("map(")
        key, _, held = rest.partition(", ")
        element, close = held.split(")", 1)
        return f"{head}map({key},tensor({element})){close}"
    return kind or ""
