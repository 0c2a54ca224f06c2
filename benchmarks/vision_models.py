"""CNNs of today as torch.onnx writes them, with random weights, timed against onnxruntime.

Run as ``python benchmarks/vision_models.py [mobilenet_v3 efficientnet unet] [--threads 1,2] [--rounds N] [--save FOLDER]``.
``mobilenet_v3``: depthwise convolutions, squeeze and excitation, HardSwish. ``efficientnet``: the same with x * sigmoid(x).
``unet``: GroupNormalization in the form of InstanceNormalization, x * sigmoid(x), nearest upsampling, concatenation.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import rows  # noqa: E402


class Network:
    """A graph that grows node by node; methods take the name of a value and return that of the result."""

    def __init__(self, channels: int, size: int):
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.channels = {"x": channels}
        self.size = size
        self.rng = np.random.default_rng(0)

    def node(self, op: str, *inputs: str, channels: int | None = None, **attributes: Any) -> str:
        """One node; ``channels`` of its result, those of its first input unless they are given."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        self.channels[name] = self.channels[inputs[0]] if channels is None else channels
        return name

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def random(self, *shape: int, near: float = 0.0, size: float = 1.0) -> str:
        return self.constant((near + size * self.rng.standard_normal(shape)).astype(np.float32))

    def conv(self, x: str, out: int, kernel: int = 1, stride: int = 1, group: int = 1) -> str:
        """A convolution with a bias, padded to keep the size; weights that keep the variance."""
        inner = self.channels[x] // group
        w = self.random(out, inner, kernel, kernel, size=(2 / (inner * kernel * kernel)) ** 0.5)
        return self.node("Conv", x, w, self.random(out, size=0.1), channels=out, group=group, kernel_shape=[kernel] * 2,
                         pads=[kernel // 2] * 4, strides=[stride] * 2)

    def swish(self, x: str) -> str:
        return self.node("Mul", x, self.node("Sigmoid", x))

    def hard_swish(self, x: str) -> str:
        return self.node("HardSwish", x)

    def relu(self, x: str) -> str:
        return self.node("Relu", x)

    def excited(self, x: str, squeezed: int, inner: Callable[[str], str], gate: str, **attributes: Any) -> str:
        """Every channel times a number that the means of all channels give."""
        mean = self.node("GlobalAveragePool", x)
        hidden = inner(self.conv(mean, squeezed))
        return self.node("Mul", x, self.node(gate, self.conv(hidden, self.channels[x]), **attributes))

    def group_norm(self, x: str, groups: int = 8) -> str:
        """As torch.onnx spells it: instances of groups, then a scale and a shift by channel."""
        channels = self.channels[x]
        apart = self.node("Reshape", x, self.constant(np.array([0, groups, -1], np.int64)))
        ones, zeros = (self.constant(np.full(groups, v, np.float32)) for v in (1, 0))
        normal = self.node("InstanceNormalization", apart, ones, zeros)
        back = self.node("Reshape", normal, self.node("Shape", x))
        scaled = self.node("Mul", back, self.random(channels, 1, 1, near=1, size=0.1))
        return self.node("Add", scaled, self.random(channels, 1, 1, size=0.1), channels=channels)

    def classifier(self, x: str, classes: int, inner: Callable[[str], str], hidden: int) -> str:
        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        if hidden:
            flat = inner(self.linear(flat, hidden))
        return self.linear(flat, classes)

    def linear(self, x: str, out: int) -> str:
        inner = self.channels[x]
        weights, bias = self.random(out, inner, size=inner ** -0.5), self.random(out, size=0.1)
        return self.node("Gemm", x, weights, bias, channels=out, transB=1)

    def model(self, y: str, rank: int = 2) -> ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, self.channels["x"], self.size, self.size])
        out = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, *"chw"[:rank - 1]])
        graph = helper.make_graph(self.nodes, "network", [x], [out], self.weights)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def mobilenet_v3() -> ModelProto:
    """MobileNet-V3 large: kernel, expansion, output channels, whether it is excited, whether HardSwish, stride."""
    blocks = [(3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
              (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
              (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1),
              (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1)]
    net = Network(3, 224)
    x = net.hard_swish(net.conv("x", 16, 3, 2))
    for kernel, wide, out, excited, swish, stride in blocks:
        active = net.hard_swish if swish else net.relu
        y = active(net.conv(x, wide)) if wide != net.channels[x] else x
        y = active(net.conv(y, wide, kernel, stride, wide))
        if excited:
            y = net.excited(y, max(8, wide // 32 * 8), net.relu, "HardSigmoid", alpha=1 / 6)
        y = net.conv(y, out)
        x = net.node("Add", x, y) if stride == 1 and net.channels[x] == out else y
    return net.model(net.classifier(net.hard_swish(net.conv(x, 960)), 1000, net.hard_swish, 1280))


def efficientnet() -> ModelProto:
    """EfficientNet-B0: expansion, output channels, how many blocks, kernel, stride of the first."""
    stages = [(1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2), (6, 112, 3, 5, 1), (6, 192, 4, 5, 2),
              (6, 320, 1, 3, 1)]
    net = Network(3, 224)
    x = net.swish(net.conv("x", 32, 3, 2))
    for wider, out, times, kernel, first in stages:
        for k in range(times):
            inner, stride = net.channels[x], first if k == 0 else 1
            y = net.swish(net.conv(x, inner * wider)) if wider > 1 else x
            y = net.swish(net.conv(y, inner * wider, kernel, stride, inner * wider))
            y = net.conv(net.excited(y, max(1, inner // 4), net.swish, "Sigmoid"), out)
            x = net.node("Add", x, y) if stride == 1 and inner == out else y
    return net.model(net.classifier(net.swish(net.conv(x, 1280)), 1000, net.relu, 0))


def unet() -> ModelProto:
    """A UNet of three scales on 64 x 64, as diffusion models have."""
    net = Network(4, 64)

    def residual(x: str, out: int) -> str:
        y = net.conv(net.swish(net.group_norm(x)), out, 3)
        y = net.conv(net.swish(net.group_norm(y)), out, 3)
        return net.node("Add", x if net.channels[x] == out else net.conv(x, out), y)

    x = net.conv("x", 64, 3)
    kept = []
    for out in (64, 128, 256):
        x = residual(residual(x, out), out)
        kept.append(x)
        x = net.conv(x, out, 3, 2)
    x = residual(residual(x, 256), 256)
    for out in (256, 128, 64):
        twice = net.constant(np.array([1, 1, 2, 2], np.float32))
        larger = net.node("Resize", x, "", twice, mode="nearest", nearest_mode="floor",
                          coordinate_transformation_mode="asymmetric")
        x = net.conv(larger, out, 3)
        other = kept.pop()
        x = residual(net.node("Concat", x, other, channels=out + net.channels[other], axis=1), out)
    return net.model(net.conv(net.swish(net.group_norm(x)), 4, 3), 4)


MODELS = {"mobilenet_v3": mobilenet_v3, "efficientnet": efficientnet, "unet": unet}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--save", help="keep the models in this folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(given.save or folder)
        place.mkdir(exist_ok=True)
        paths = [place / f"{name}.onnx" for name in given.models]
        for path in paths:
            path.write_bytes(MODELS[path.stem]().SerializeToString())
        for row in rows(paths, [int(t) for t in given.threads.split(",")], rounds=given.rounds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
