"""onnxruntime.capi.onnxruntime_pybind11_state: the exceptions, and the classes and functions under it."""
from ..allocators import OrtAllocatorType, OrtArenaCfg, OrtMemoryInfo, OrtMemType, create_and_register_allocator
from ..binding import IOBinding as SessionIOBinding
from ..environment import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    set_default_logger_callback,
    set_global_thread_pool_sizes,
    set_seed,
)
from ..faults import (
    DeviceReset,
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoadCanceled,
    ModelLoaded,
    ModelRequiresCompilation,
    NoModel,
    NoSuchFile,
    NotFound,
    NotImplemented,
    RuntimeException,
)
from ..options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtExecutionProviderDevicePolicy,
    RunOptions,
    SessionOptions,
    set_default_logger_severity,
    set_default_logger_verbosity,
)
from ..providers import get_all_providers, get_available_providers, get_device
from ..session import InferenceSession, ModelMetadata, NodeArg
from ..values import OrtDevice, OrtValue, OrtValueVector, SparseTensor, copy_tensors

__all__ = [
    "DeviceReset", "EPFail", "EngineError", "ExecutionMode", "ExecutionOrder", "Fail", "GraphOptimizationLevel",
    "InferenceSession", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "ModelLoadCanceled", "ModelLoaded",
    "ModelMetadata", "ModelRequiresCompilation", "NoModel", "NoSuchFile", "NodeArg", "NotFound", "NotImplemented",
    "OrtAllocatorType", "OrtArenaCfg", "OrtDevice", "OrtExecutionProviderDevicePolicy", "OrtMemType", "OrtMemoryInfo",
    "OrtValue", "OrtValueVector", "RunOptions", "RuntimeException", "SessionIOBinding", "SessionOptions", "SparseTensor",
    "copy_tensors", "create_and_register_allocator", "disable_telemetry_events", "enable_telemetry_events",
    "get_all_providers", "get_available_providers", "get_build_info", "get_device", "get_ep_devices", "get_version_string",
    "has_collective_ops", "set_default_logger_callback", "set_default_logger_severity", "set_default_logger_verbosity",
    "set_global_thread_pool_sizes", "set_seed"]
