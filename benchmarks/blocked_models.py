"""Building blocks of well-known CNNs, several in a row as networks have them, timed against onnxruntime.

Run as ``python benchmarks/blocked_models.py [vgg resnet …] [--threads N] [--rounds N]``. Between their convolutions both engines
keep values in blocks of channels, so that a row shows the convolutions alone: the least milliseconds of each engine, and
onnxruntime's divided by ours; then the sums.
"""
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import main  # noqa: E402

IN_A_ROW = 4


@dataclass(frozen=True)
class Conv:
    """A convolution that keeps the size of its input, or divides it by its stride."""

    out: int
    kernel: int = 1
    stride: int = 1
    group: int = 1


@dataclass(frozen=True)
class Chain:
    """Convolutions with a Relu behind each, over a square input; the last gives as many channels as the first takes."""

    channels: int
    size: int
    convs: tuple[Conv, ...]
    in_a_row: int = IN_A_ROW
    times: int = 1

    @property
    def title(self) -> str:
        each = [f"{c.kernel}x{c.kernel}{f' / {c.stride}' if c.stride > 1 else ''} {c.out}" for c in self.convs]
        return f"{self.channels}x{self.size}: {', '.join(each)}"[:45]


def plain(channels: int, size: int, kernel: int = 3, group: int = 1) -> Chain:
    return Chain(channels, size, (Conv(channels, kernel, 1, group),))


def bottleneck(channels: int, size: int) -> Chain:
    return Chain(channels, size, (Conv(channels // 4), Conv(channels // 4, 3), Conv(channels)))


def inverted(channels: int, size: int, kernel: int) -> Chain:
    inner = 6 * channels
    return Chain(channels, size, (Conv(inner), Conv(inner, kernel, 1, inner), Conv(channels)))


NETWORKS: dict[str, list[Chain]] = {
    "vgg": [plain(64, 224), plain(128, 112), plain(256, 56), plain(512, 28), plain(512, 14)],
    "alexnet": [plain(192, 13, 3, 1), plain(384, 13, 3, 2), plain(96, 27, 5, 2)],
    "resnet": [bottleneck(256, 56), bottleneck(512, 28), bottleneck(1024, 14), bottleneck(2048, 7)],
    "densenet": [Chain(256, n, (Conv(128), Conv(32, 3), Conv(256))) for n in (56, 28, 14, 7)],
    "squeezenet": [Chain(128, 55, (Conv(16), Conv(128, 3))), Chain(512, 13, (Conv(64), Conv(512, 3)))],
    "depthwise": [plain(32, 112, 3, 32), plain(144, 56, 3, 144), plain(384, 14, 3, 384), plain(240, 28, 5, 240),
                  plain(672, 14, 5, 672), plain(960, 7, 5, 960)],
    "mobilenet": [inverted(24, 56, 3), inverted(40, 28, 5), inverted(80, 14, 3), inverted(112, 14, 5), inverted(160, 7, 5)],
    "strided": [Chain(3, 224, (Conv(64, 7, 2), Conv(128, 3, 2), Conv(256, 3, 2), Conv(512, 1, 2)), 1)],
}


def model(chain: Chain) -> ModelProto:
    """So many of the blocks in a row, with constant weights and biases, and the mean of what comes out."""
    rng = np.random.default_rng(0)
    nodes, initializers, last, channels = [], [], "x", chain.channels
    for number, conv in enumerate(chain.convs * chain.in_a_row):
        w = rng.standard_normal((conv.out, channels // conv.group, conv.kernel, conv.kernel))
        w *= np.sqrt(2 / np.prod(w.shape[1:]))
        for name, array in ((f"w{number}", w), (f"b{number}", rng.standard_normal(conv.out) / 8)):
            initializers.append(numpy_helper.from_array(array.astype(np.float32), name))
        nodes.append(helper.make_node("Conv", [last, f"w{number}", f"b{number}"], [f"c{number}"], strides=[conv.stride] * 2,
                                      pads=[conv.kernel // 2] * 4, group=conv.group))
        last, channels = f"r{number}", conv.out
        nodes.append(helper.make_node("Relu", [f"c{number}"], [last]))
    nodes.append(helper.make_node("GlobalAveragePool", [last], ["y"]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, fed(chain).shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "chain", [x], [y], initializers), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 18)])


def fed(chain: Chain) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((1, chain.channels, chain.size, chain.size)).astype(np.float32)


if __name__ == "__main__":
    main(__doc__, NETWORKS, model, fed)
