"""PairDistance of the domain org.example. Nothing is imported here: onnx-interp imports `kernel` when a model needs it."""
