"""Operators of ai.onnx.ml: classical machine learning."""
