"""Kernels: arrays in, steps out. Knows neither ONNX nor graphs; installed as `interp.kernels`."""
