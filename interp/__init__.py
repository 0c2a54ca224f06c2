"""An ONNX runtime that people can read: `interp.load("model.onnx").run(None, feeds)`."""
