"""Quantised transformers and CNNs, whole and their layers as models of their own, timed against onnxruntime.

Run as ``python benchmarks/quantize_models.py [minilm resnet50 whole elementwise] [--threads N] [--rounds N]``. A row a shape, or
a whole model: how often the network has it, the least milliseconds of each engine, and onnxruntime's divided by ours; then the
sums. onnxruntime's
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


class Quantised:
    """A CNN in the text of ONNX, every value between operators quantised and dequantised."""

    def __init__(self) -> None:
        self.lines = ["v0 = QuantizeLinear(x, s0, z0)"]
        self.constants = {"s0": one(0.03), "z0": one(128, np.uint8), "zw": one(0, np.int8)}
        self.ends = ("s0", "z0")

    def name(self) -> str:
        return f"v{len(self.lines)}"

    def opened(self, value: str) -> str:
        """The value in float again."""
        made = self.name()
        scale, zero = self.ends if value == "v0" else (f"s_{value}", f"z_{value}")
        self.lines.append(f"{made} = DequantizeLinear({value}, {scale}, {zero})")
        return made

    def closed(self, text: str, scale: float) -> str:
        """What the text says of floats, rectified and quantised."""
        made = self.name()
        self.constants |= {f"s_{made}": one(scale), f"z_{made}": one(0, np.uint8)}
        self.lines.append(f"{made}f = {text} {made}r = Relu({made}f) {made} = QuantizeLinear({made}r, s_{made}, z_{made})")
        return made

    def convolution(self, value: str, channels: int, out: int, kernel: int, stride: int = 1, group: int = 1) -> str:
        w = weights((out, channels // group, kernel, kernel), each=True)
        scales = np.full(out, 1 / (32 * np.sqrt(w[0].size)), np.float32)
        k = self.name()
        self.constants |= {f"w_{k}": w, f"ws_{k}": scales, f"wz_{k}": np.zeros(out, np.int8),
                           f"b_{k}": np.arange(out, dtype=np.int32),
                           f"bs_{k}": scales * np.float32(0.03), f"bz_{k}": np.zeros(out, np.int32)}
        self.lines.append(f"w{k} = DequantizeLinear<axis = 0>(w_{k}, ws_{k}, wz_{k}) "
                          f"b{k} = DequantizeLinear<axis = 0>(b_{k}, bs_{k}, bz_{k})")
        opened = self.opened(value)
        settings = f"strides = {[stride] * 2}, pads = {[kernel // 2] * 4}, group = {group}"
        return self.closed(f"Conv<{settings}>({opened}, w{k}, b{k})", 0.03)

    def sum(self, a: str, b: str) -> str:
        return self.closed(f"Add({self.opened(a)}, {self.opened(b)})", 0.05)

    def pooled(self, value: str) -> str:
        opened = self.opened(value)
        made = self.name()
        self.constants |= {f"s_{made}": self.constants[f"s_{value}"], f"z_{made}": self.constants[f"z_{value}"]}
        self.lines.append(f"{made}f = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>({opened}) "
                          f"{made} = QuantizeLinear({made}f, s_{made}, z_{made})")
        return made

    def layer(self, title: str, value: str, fed: np.ndarray) -> Layer:
        self.lines.append(f"y = GlobalAveragePool({self.opened(value)})")
        return Layer(title, 1, " ".join(self.lines), fed, self.constants)


def resnet18() -> Layer:
    net = Quantised()
    value, channels = net.pooled(net.convolution("v0", 3, 64, 7, 2)), 64
    for out in (64, 128, 256, 512):
        for stride in (1 if out == 64 else 2, 1):
            inner = net.convolution(net.convolution(value, channels, out, 3, stride), out, out, 3)
            beside = value if channels == out else net.convolution(value, channels, out, 1, stride)
            value, channels = net.sum(inner, beside), out
    return net.layer("resnet18, 224 x 224, static", value, drawn((1, 3, 224, 224), np.float32))


def mobilenet() -> Layer:
    net = Quantised()
    value, channels = net.convolution("v0", 3, 32, 3, 2), 32
    for out, stride in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]:
        value = net.convolution(net.convolution(value, channels, channels, 3, stride, channels), channels, out, 1)
        channels = out
    return net.layer("mobilenet, 224 x 224, static", value, drawn((1, 3, 224, 224), np.float32))


def encoder(layers: int = 6, width: int = 384, heads: int = 12, rows: int = 128) -> Layer:
    """Layers of a transformer, their products dynamically quantised."""
    lines: list[str] = []
    constants: dict[str, np.ndarray] = {"split": np.array([1, rows, heads, width // heads]), "whole": np.array([1, rows, width]),
                                        "root": one(1 / np.sqrt(width / heads)), "wz": one(0, np.int8),
                                        "g": np.ones(width, np.float32), "o": np.zeros(width, np.float32)}

    def product(made: str, value: str, k: int, n: int) -> str:
        constants.update({f"w_{made}": weights((k, n)), f"s_{made}": one(1 / (32 * np.sqrt(k))),
                          f"b_{made}": np.zeros(n, np.float32)})
        return (f"i_{made} = MatMulInteger({value}_q, w_{made}, {value}_z, wz) c_{made} = Cast<to = 1>(i_{made}) "
                f"t_{made} = Mul({value}_s, s_{made}) m_{made} = Mul(c_{made}, t_{made}) {made} = Add(m_{made}, b_{made})")

    def quantised(value: str) -> str:
        return f"{value}_q, {value}_s, {value}_z = DynamicQuantizeLinear({value})"

    value = "x"
    for k in range(layers):
        lines += [quantised(value), *(product(f"{p}{k}", value, width, width) for p in "qkv")]
        for p, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            lines.append(f"{p}{k}h = Reshape({p}{k}, split) {p}{k}t = Transpose<perm = {order}>({p}{k}h)")
        lines += [f"e{k} = MatMul(q{k}t, k{k}t) r{k} = Mul(e{k}, root) p{k} = Softmax(r{k}) a{k}t = MatMul(p{k}, v{k}t) "
                  f"a{k}h = Transpose<perm = [0, 2, 1, 3]>(a{k}t) a{k} = Reshape(a{k}h, whole)", quantised(f"a{k}"),
                  product(f"d{k}", f"a{k}", width, width), f"f{k} = Add({value}, d{k}) n{k} = LayerNormalization(f{k}, g, o)",
                  quantised(f"n{k}"), product(f"u{k}", f"n{k}", width, 4 * width), f"h{k} = Gelu(u{k})", quantised(f"h{k}"),
                  product(f"j{k}", f"h{k}", 4 * width, width), f"l{k} = Add(n{k}, j{k}) x{k} = LayerNormalization(l{k}, g, o)"]
        value = f"x{k}"
    return Layer(f"encoder, {layers} layers, dynamic", 1, " ".join([*lines, f"y = Identity({value})"]),
                 drawn((1, rows, width), np.float32), constants)


NETWORKS: dict[str, list[Layer]] = {
    "minilm": [dense(24, 128, 384, 384), dense(6, 128, 384, 1536), dense(6, 128, 1536, 384), dense(24, 128, 384, 384, np.uint8),
               dense(1, 1, 384, 384), dense(1, 1, 384, 1536), dense(1, 512, 768, 768)],
    "resnet50": [convolution(1, 3, 224, 64, 7, 2), convolution(3, 64, 56, 64, 3), convolution(4, 64, 56, 256),
                 convolution(4, 128, 28, 128, 3), convolution(4, 128, 28, 512), convolution(6, 256, 14, 256, 3),
                 convolution(6, 256, 14, 1024), convolution(3, 512, 7, 512, 3), convolution(3, 2048, 7, 512),
                 convolution(1, 128, 28, 128, 3, 1, 128)],
    "whole": [resnet18(), mobilenet(), encoder()],
    "elementwise": [elementwise(op, (128, 1536), kind) for op, kind in [
        ("QuantizeLinear", np.float32), ("DequantizeLinear", np.uint8), ("DynamicQuantizeLinear", np.float32)]] + [
        elementwise("QuantizeLinear", (1, 64, 56, 56), axis=1), elementwise("DequantizeLinear", (1536, 384), np.uint8, 1)],
}


def model(layer: Layer) -> ModelProto:
    """The layer alone, with its constants."""
    made = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> layer (float x) => (float y) {{ {layer.text} }}')
    graph = helper.make_graph(
        made.graph.node, "layer",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(layer.fed.dtype), layer.fed.shape)],
        [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(a, name) for name, a in layer.constants.items()])
    return helper.make_model(graph, ir_version=10, opset_imports=made.opset_import)


if __name__ == "__main__":
    main(__doc__, NETWORKS, model, lambda layer: layer.fed)
