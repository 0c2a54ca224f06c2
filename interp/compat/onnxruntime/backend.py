"""onnxruntime.backend: models behind the interface of onnx.backend."""
from ...backend import is_compatible, prepare, run_model, supports_device

__all__ = ["is_compatible", "prepare", "run_model", "supports_device"]
