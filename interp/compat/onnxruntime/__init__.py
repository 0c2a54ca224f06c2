"""onnxruntime's names over this package, so that programs written for it run unchanged.

    import interp.compat.onnxruntime as onnxruntime      # in a program of one's own
    interp.compat.onnxruntime.install()                  # for programs, and libraries, that import onnxruntime themselves
    python -m interp.compat.onnxruntime SCRIPT.py …      # from a shell

It follows onnxruntime 1.32, and says so in `__version__`, because programs compare that with the least that they need;
`get_build_info()` tells what really runs. `uninstall()` takes it away again. A process that is started anew (by multiprocessing's
"spawn") has to call `install()` itself.

**The same**: InferenceSession (from a path or bytes) with all its ways to run, names, types and sizes of inputs and outputs,
OrtValue, IOBinding, SessionOptions, RunOptions, the exceptions of `capi.onnxruntime_pybind11_state` with their codes, and what
may be fed: arrays of the declared type, contiguous or not; lists, which become arrays of that type; lists of arrays for
sequences, of dictionaries for sequences of maps; None for optionals, or nothing. Scalars, tuples, and arrays of another type
are refused, as there. Outputs come as arrays, lists, dictionaries and None.

**With an effect**: graph_optimization_level (ORT_DISABLE_ALL runs the graph as written, ORT_ENABLE_BASIC only drops what is not
needed), intra_op_num_threads, enable_profiling and profile_file_prefix (end_profiling writes a Chrome trace),
optimized_model_filepath (in standard operators), free dimensions by name, add_initializer, log severities (above 2: nothing is
said of options without effect), RunOptions.terminate, set_seed (of random operators that have no seed of their own).

**Without**: everything else that can be set. It is kept, can be read again, and warns once a process, by name, with the category
`IgnoredOption`, where it is not the default. Providers but the CPU's are left out with a warning, as in an onnxruntime that
lacks them.

**Different**: messages after the code are this package's, and name the node; a model that breaks a rule of the standard is
always an InvalidGraph, and a kernel that fails always a Fail (RuntimeException where memory ran out), where onnxruntime has
several; optimized models hold the standard's operators alone; arrays in another byte order are read as they are meant, and arrays
of bfloat16 and the other types of ml_dtypes go in and out; sequences may be empty; optionals have no sizes in NodeArg. Data in
files outside the model's folder is refused.

**Not there**: sparse tensors, adapters, training, custom operator libraries (an operator is a Python function here,
`interp.op`), compiled and packaged models, models in the ORT format, `onnxruntime.quantization` and the tools beside it.
"""
from . import capi as capi
from .allocators import OrtAllocatorType, OrtArenaCfg, OrtMemoryInfo, OrtMemType, create_and_register_allocator
from .binding import IOBinding as IOBinding
from .binding import IOBinding as SessionIOBinding
from .environment import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_build_info,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    set_default_logger_callback,
    set_global_thread_pool_sizes,
    set_seed,
)
from .installing import install, uninstall
from .options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    IgnoredOption,
    OrtExecutionProviderDevicePolicy,
    RunOptions,
    SessionOptions,
    set_default_logger_severity,
    set_default_logger_verbosity,
)
from .providers import get_all_providers, get_available_providers, get_device
from .session import InferenceSession, ModelMetadata, NodeArg
from .values import OrtDevice, OrtDeviceVendorId, OrtValue, SparseTensor, copy_tensors
from .version import __version__

__author__ = "the authors of onnx-interp"
version, package_name, cuda_version = __version__, "onnxruntime", ""
__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "IOBinding", "IgnoredOption", "InferenceSession",
    "ModelMetadata", "NodeArg", "OrtAllocatorType", "OrtArenaCfg", "OrtDevice", "OrtDeviceVendorId",
    "OrtExecutionProviderDevicePolicy", "OrtMemType", "OrtMemoryInfo", "OrtValue", "RunOptions", "SessionIOBinding",
    "SessionOptions", "SparseTensor", "__version__", "copy_tensors", "create_and_register_allocator",
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers", "get_available_providers", "get_build_info",
    "get_device", "get_ep_devices", "get_version_string", "has_collective_ops", "install", "preload_dlls", "print_debug_info",
    "set_default_logger_callback", "set_default_logger_severity", "set_default_logger_verbosity",
    "set_global_thread_pool_sizes", "set_seed", "uninstall"]
