"""Layers of quantised transformers and CNNs as models of their own, timed against onnxruntime.

Run as ``python benchmarks/quantize_models.py [minilm resnet50 elementwise] [--threads N] [--rounds N]``. A row a shape: how often
the network has it, the least milliseconds of each engine, and onnxruntime's divided by ours; then the sums. onnxruntime's
products of unsigned by signed bytes saturate on processors without VNNI; ours are exact.
"""
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, helper, numpy_helper, parser

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import main  # noqa: E402


class Layer(NamedTuple):
    """A model in ONNX's text, the shape and type of its input `x`, and its constants."""

    title: str
    times: int
    text: str
    fed: np.ndarray
    constants: dict[str, np.ndarray]


def drawn(shape: tuple[int, ...], dtype: type = np.uint8) -> np.ndarray:
    """Bytes of 7 bits, or normal numbers."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 127, shape).astype(dtype) if np.dtype(dtype).kind in "iu" else rng.standard_normal(shape).astype(dtype)


def weights(shape: tuple[int, ...], dtype: type = np.int8, each: bool = False) -> np.ndarray:
    """Normal weights, quantised by the largest of them, or by the largest of each first index."""
    real = np.random.default_rng(1).standard_normal(shape)
    most = np.abs(real).max(tuple(range(1, len(shape))), keepdims=True) if each else np.abs(real).max()
    return (np.rint(real / most * 127) + (128 if dtype is np.uint8 else 0)).astype(dtype)


def one(value: float, dtype: type = np.float32) -> np.ndarray:
    return np.array(value, dtype)


def dense(times: int, rows: int, depth: int, columns: int, kind: type = np.int8) -> Layer:
    """A layer as dynamic quantisation leaves it."""
    text = "q, s, z = DynamicQuantizeLinear(x) i = MatMulInteger(q, w, z, wz) f = Cast<to = 1>(i) a = Mul(s, ws) y = Mul(f, a)"
    constants = {"w": weights((depth, columns), kind), "wz": one(128 if kind is np.uint8 else 0, kind), "ws": one(0.01)}
    title = f"{rows}x{depth} by {depth}x{columns}, {np.dtype(kind)}"
    return Layer(title, times, text, drawn((rows, depth), np.float32), constants)


def convolution(times: int, channels: int, size: int, out: int, kernel: int = 1, stride: int = 1, group: int = 1) -> Layer:
    """A layer as static quantisation leaves it."""
    text = (f"y = QLinearConv <group = {group}, strides = {[stride] * 2}, pads = {[kernel // 2] * 4}> "
            "(x, xs, xz, w, ws, wz, ys, yz, b)")
    constants = {"xs": one(0.02), "xz": one(3, np.uint8), "w": weights((out, channels // group, kernel, kernel), each=True),
                 "ws": np.full(out, 0.01, np.float32), "wz": np.zeros(out, np.int8), "ys": one(9), "yz": one(5, np.uint8),
                 "b": np.arange(out, dtype=np.int32)}
    name = f"{channels}x{size} to {out}{f' in {group}' if group > 1 else ''}, {kernel}x{kernel} / {stride}"
    return Layer(name, times, text, drawn((1, channels, size, size)), constants)


def elementwise(op: str, shape: tuple[int, ...], dtype: type = np.float32, axis: int | None = None) -> Layer:
    scales = (1,) if axis is None else (shape[axis],)
    constants = {"s": np.full(scales, 0.02, np.float32), "z": np.full(scales, 7, np.uint8)}
    given = "" if op.startswith("Dynamic") else ", s, z"
    results = "y, s, z" if op.startswith("Dynamic") else "y"
    text = f"{results} = {op}{'' if axis is None else f' <axis = {axis}>'}(x{given})"
    title = f"{op} {shape}{'' if axis is None else f', axis {axis}'}"
    return Layer(title, 1, text, drawn(shape, dtype), constants if given else {})


NETWORKS: dict[str, list[Layer]] = {
    "minilm": [dense(24, 128, 384, 384), dense(6, 128, 384, 1536), dense(6, 128, 1536, 384), dense(24, 128, 384, 384, np.uint8),
               dense(1, 1, 384, 384), dense(1, 1, 384, 1536), dense(1, 512, 768, 768)],
    "resnet50": [convolution(1, 3, 224, 64, 7, 2), convolution(3, 64, 56, 64, 3), convolution(4, 64, 56, 256),
                 convolution(4, 128, 28, 128, 3), convolution(4, 128, 28, 512), convolution(6, 256, 14, 256, 3),
                 convolution(6, 256, 14, 1024), convolution(3, 512, 7, 512, 3), convolution(3, 2048, 7, 512),
                 convolution(1, 128, 28, 128, 3, 1, 128)],
    "elementwise": [elementwise(op, (128, 1536), kind) for op, kind in [
        ("QuantizeLinear", np.float32), ("DequantizeLinear", np.uint8), ("DynamicQuantizeLinear", np.float32)]] + [
        elementwise("QuantizeLinear", (1, 64, 56, 56), axis=1), elementwise("DequantizeLinear", (1536, 384), np.uint8, 1)],
}


def model(layer: Layer) -> ModelProto:
    """The layer alone, with its constants."""
    made = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 19]> layer (float x) => (float y) {{ {layer.text} }}')
    graph = helper.make_graph(
        made.graph.node, "layer",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(layer.fed.dtype), layer.fed.shape)],
        [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(a, name) for name, a in layer.constants.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=made.opset_import)


if __name__ == "__main__":
    main(__doc__, NETWORKS, model, lambda layer: layer.fed)
