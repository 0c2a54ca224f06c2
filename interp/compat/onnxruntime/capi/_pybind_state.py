"""onnxruntime.capi._pybind_state: other names for the same things."""
from .onnxruntime_pybind11_state import *  # noqa: F403
