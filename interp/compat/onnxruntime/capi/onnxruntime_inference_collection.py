"""onnxruntime.capi.onnxruntime_inference_collection: sessions, bindings and values."""
from ..binding import IOBinding
from ..providers import check_and_normalize_provider_args
from ..session import InferenceSession, Session
from ..values import OrtDevice, OrtDeviceVendorId, OrtValue, SparseTensor, copy_tensors
from ..values import kind_of as get_ort_device_type

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Session", "SparseTensor",
           "check_and_normalize_provider_args", "copy_tensors", "get_ort_device_type"]
