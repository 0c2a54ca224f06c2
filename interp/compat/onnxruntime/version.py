"""Which onnxruntime this package follows."""
__version__ = "1.32.0"  # what programs compare with the least that they need
