"""Image operators of well-known detectors and recognisers as one-node models, timed against onnxruntime.

Run as ``python benchmarks/image_models.py [resize sample boxes transpose] [--threads N] [--rounds N]``. A row a case: the least
milliseconds of each engine, and onnxruntime's divided by ours.
"""
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import Case, table  # noqa: E402

FAMILIES = ("resize", "sample", "boxes", "transpose")


@dataclass(frozen=True)
class Node:
    """One node, with what feeds it and what is constant, both by name in the operator's order; None is left out."""

    title: str
    op: str
    fed: dict[str, np.ndarray]
    constant: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    def model(self) -> ModelProto:
        """The node alone."""
        names = [n if a is not None else "" for n, a in (self.fed | self.constant).items()]
        node = helper.make_node(self.op, names, ["y"], **self.attributes)
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in self.fed.items()]
        constants = [numpy_helper.from_array(a, n) for n, a in self.constant.items() if a is not None]
        graph = helper.make_graph([node], "node", inputs, [ValueInfoProto(name="y")], constants)
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


def cases(family: str) -> Iterator[Node]:
    """The nodes of a family."""
    rng = np.random.default_rng(0)
    image = {"x": rng.random((1, 64, 80, 80), np.float32)}
    if family == "resize":
        floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        for times, given in [(2, {"mode": "nearest"} | floor), (2, {"mode": "linear"}), (2, {"mode": "cubic"}),
                             (0.5, {"mode": "linear"}), (0.5, {"mode": "linear", "antialias": 1})]:
            title = " ".join(["Resize", given["mode"], str(times), *["antialias"] * ("antialias" in given)])
            yield Node(title, "Resize", image, {"roi": None, "scales": np.array([1, 1, times, times], np.float32)}, given)
    elif family == "sample":
        fed = {"x": rng.random((1, 64, 64, 64), np.float32), "grid": rng.uniform(-1, 1, (1, 64, 64, 2)).astype(np.float32)}
        for mode in ("nearest", "linear", "cubic"):
            yield Node(f"GridSample {mode}", "GridSample", fed, attributes={"mode": mode})
    elif family == "boxes":
        corner = rng.random((1, 1000, 2)) * 100
        boxes = np.concatenate([corner, corner + rng.random((1, 1000, 2)) * 20], 2).astype(np.float32)
        for most, least in [(200, 0.5), (1000, 0.05)]:
            given = {"most": np.array(most), "overlap": np.float32(0.5).reshape(()), "least": np.float32(least).reshape(())}
            yield Node(f"NonMaxSuppression {most}, {least}", "NonMaxSuppression",
                       {"boxes": boxes, "scores": rng.random((1, 80, 1000), np.float32)}, given)
    else:
        for out, size, kernel, stride, pad in [(24, 240, 2, 2, 0), (1, 480, 2, 2, 0), (24, 120, 4, 2, 1), (24, 120, 3, 1, 1)]:
            w, b = rng.standard_normal((24, out, kernel, kernel)), rng.standard_normal(out)
            yield Node(f"ConvTranspose 24x{size} to {out}, {kernel}x{kernel} / {stride}", "ConvTranspose",
                       {"x": rng.random((1, 24, size, size), np.float32)}, {"w": w.astype(np.float32), "b": b.astype(np.float32)},
                       {"strides": [stride] * 2, "pads": [pad] * 4})


if __name__ == "__main__":
    table(__doc__, FAMILIES, lambda family: (Case(node.title, node.model(), [node.fed]) for node in cases(family)))
