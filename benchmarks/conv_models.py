"""Convolutions and last layers of well-known CNNs as one-node models, timed against onnxruntime.

Run as ``python benchmarks/conv_models.py [squeezenet resnet50 vgg19 shufflenet] [--threads N] [--rounds N]``. A row a shape:
how often the network has it, the least milliseconds of each engine, and onnxruntime's divided by ours; then the sums.
"""
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import main  # noqa: E402


@dataclass(frozen=True)
class Layer:
    """A convolution of a square input, or a Gemm where ``size`` is 0."""

    times: int
    channels: int
    size: int
    out: int
    kernel: int = 1
    stride: int = 1
    pad: int = 0
    group: int = 1

    @property
    def title(self) -> str:
        if not self.size:
            return f"Gemm {self.channels} to {self.out}"
        group = f" in {self.group}" if self.group > 1 else ""
        return f"{self.channels}x{self.size} to {self.out}{group}, {self.kernel}x{self.kernel} / {self.stride}"


def squeezed(channels: list[int], size: int, squeeze: int) -> list[Layer]:
    """Two fire modules of SqueezeNet: one convolution each into few channels, the same two out of them."""
    expand = 4 * squeeze
    into = [Layer(1, c, size, squeeze) for c in channels]
    return [*into, Layer(2, squeeze, size, expand), Layer(2, squeeze, size, expand, 3, 1, 1)]


NETWORKS: dict[str, list[Layer]] = {
    "squeezenet": [
        Layer(1, 3, 224, 64, 3, 2), *squeezed([64, 128], 55, 16), *squeezed([128, 256], 27, 32),
        *squeezed([256, 384], 13, 48), *squeezed([384, 512], 13, 64), Layer(1, 512, 13, 1000),
    ],
    "resnet50": [
        Layer(1, 3, 224, 64, 7, 2, 3), Layer(1, 64, 56, 64), Layer(3, 64, 56, 64, 3, 1, 1), Layer(4, 64, 56, 256),
        Layer(2, 256, 56, 64), Layer(1, 256, 56, 128), Layer(1, 128, 56, 128, 3, 2, 1), Layer(4, 128, 28, 512),
        Layer(1, 256, 56, 512, 1, 2), Layer(3, 512, 28, 128), Layer(3, 128, 28, 128, 3, 1, 1), Layer(1, 512, 28, 256),
        Layer(1, 256, 28, 256, 3, 2, 1), Layer(6, 256, 14, 1024), Layer(1, 512, 28, 1024, 1, 2), Layer(5, 1024, 14, 256),
        Layer(5, 256, 14, 256, 3, 1, 1), Layer(1, 1024, 14, 512), Layer(1, 512, 14, 512, 3, 2, 1), Layer(3, 512, 7, 2048),
        Layer(1, 1024, 14, 2048, 1, 2), Layer(2, 2048, 7, 512), Layer(2, 512, 7, 512, 3, 1, 1), Layer(1, 2048, 0, 1000),
    ],
    "vgg19": [
        Layer(1, 3, 224, 64, 3, 1, 1), Layer(1, 64, 224, 64, 3, 1, 1), Layer(1, 64, 112, 128, 3, 1, 1),
        Layer(1, 128, 112, 128, 3, 1, 1), Layer(1, 128, 56, 256, 3, 1, 1), Layer(3, 256, 56, 256, 3, 1, 1),
        Layer(1, 256, 28, 512, 3, 1, 1), Layer(3, 512, 28, 512, 3, 1, 1), Layer(4, 512, 14, 512, 3, 1, 1),
        Layer(1, 25088, 0, 4096), Layer(1, 4096, 0, 4096), Layer(1, 4096, 0, 1000),
    ],
    "shufflenet": [
        Layer(1, 3, 224, 24, 3, 2, 1), Layer(1, 24, 56, 112, group=4), Layer(1, 112, 56, 112, 3, 2, 1, 112),
        Layer(8, 136, 28, 136, group=4), Layer(3, 136, 28, 136, 3, 1, 1, 136), Layer(1, 136, 28, 136, 3, 2, 1, 136),
        Layer(15, 272, 14, 272, group=4), Layer(7, 272, 14, 272, 3, 1, 1, 272), Layer(1, 272, 14, 272, 3, 2, 1, 272),
        Layer(6, 544, 7, 544, group=4), Layer(3, 544, 7, 544, 3, 1, 1, 544), Layer(1, 544, 0, 1000),
    ],
}


def model(layer: Layer) -> ModelProto:
    """The layer alone, with constant weights and a bias."""
    rng = np.random.default_rng(0)
    w = (layer.out, layer.channels // layer.group, *(layer.kernel,) * 2) if layer.size else (layer.out, layer.channels)
    constants = {"w": rng.standard_normal(w) / np.sqrt(np.prod(w[1:])), "b": rng.standard_normal(layer.out)}
    if layer.size:
        node = helper.make_node("Conv", ["x", "w", "b"], ["y"], strides=[layer.stride] * 2, pads=[layer.pad] * 4,
                                group=layer.group)
    else:
        node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, fed(layer).shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    initializers = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in constants.items()]
    return helper.make_model(helper.make_graph([node], "layer", [x], [y], initializers), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 18)])


def fed(layer: Layer) -> np.ndarray:
    shape = (1, layer.channels, layer.size, layer.size) if layer.size else (1, layer.channels)
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


if __name__ == "__main__":
    main(__doc__, NETWORKS, model, fed)
