"""Operators of com.microsoft, as converters and onnxruntime's quantiser and optimiser leave them in models; a file a family."""
