"""Pools, local response and resizing in the blocked layout, timed against onnxruntime's operators in the plain one.

Run as ``python benchmarks/octet_models.py [--threads N] [--rounds N]``: the shapes are those of well-known CNNs. A row a node:
the least milliseconds of each engine, and onnxruntime's divided by ours.
"""
import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare, mean, ratio  # noqa: E402

OVER_3_BY_2 = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
OVER_3_BY_1 = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
OVER_2_BY_2 = {"kernel_shape": [2, 2], "strides": [2, 2]}
RESPONSE = {"size": 5, "alpha": 1e-4, "beta": 0.75, "bias": 1.0}
NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
NODES: list[tuple[str, tuple[int, ...], dict[str, Any]]] = [
    ("MaxPool", (1, 64, 112, 112), OVER_3_BY_2),
    ("MaxPool", (1, 480, 28, 28), OVER_3_BY_2),
    ("MaxPool", (1, 512, 14, 14), OVER_3_BY_1),
    ("MaxPool", (1, 128, 112, 112), OVER_2_BY_2),
    ("AveragePool", (1, 256, 56, 56), OVER_2_BY_2),
    ("AveragePool", (1, 192, 35, 35), OVER_3_BY_1),
    ("GlobalAveragePool", (1, 1280, 7, 7), {}),
    ("GlobalMaxPool", (1, 512, 14, 14), {}),
    ("LRN", (1, 96, 54, 54), RESPONSE),
    ("LRN", (1, 192, 56, 56), RESPONSE),
    ("Resize", (1, 96, 80, 80), NEAREST),
    ("Resize", (1, 64, 56, 56), {"mode": "linear"}),
]


def model(op: str, shape: tuple[int, ...], attributes: dict[str, Any], domain: str) -> ModelProto:
    """One node, which doubles height and width if it resizes."""
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    inputs = {"Resize": ["x", "", "scales"], "BlockedResize": ["x", "scales"]}.get(op, ["x"])
    graph = helper.make_graph([helper.make_node(op, inputs, ["y"], domain=domain, **attributes)], "node",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [ValueInfoProto(name="y")],
                              [scales] if len(inputs) > 1 else [])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("interp", 1)])


def measured(op: str, shape: tuple[int, ...], attributes: dict[str, Any], threads: int, rounds: int) -> dict[str, Any]:
    """The times of both engines, each over its own layout."""
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    n, c, h, w = shape
    blocks = np.ascontiguousarray(x.reshape(n, c // 8, 8, h, w).transpose(0, 1, 3, 4, 2))
    own = attributes | ({"channels": c} if op == "LRN" else {})
    models = {"onnxruntime": model(op, shape, attributes, ""), "interp": model("Blocked" + op, blocks.shape, own, "interp")}
    with tempfile.TemporaryDirectory() as folder:
        paths = {engine: Path(folder) / f"{engine}.onnx" for engine in models}
        for engine, made in models.items():
            paths[engine].write_bytes(made.SerializeToString())
        return compare(paths, {"onnxruntime": [{"x": x}], "interp": [{"x": blocks}]}, threads, rounds=rounds, seconds=0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    print(f"{'node':58s}{'onnxruntime':>12s}{'interp':>9s}  ratio")
    ratios = []
    for op, shape, attributes in NODES:
        found = measured(op, shape, attributes, given.threads, given.rounds)
        theirs, ours = (1e3 * found[e][1] for e in ENGINES)
        window = "x".join(map(str, attributes.get("kernel_shape", ()))) or str(attributes.get("mode", ""))
        print(f"{op:18s} {shape!s:22s} {window:16s}{theirs:12.3f}{ours:9.3f}{theirs / ours:7.2f}", flush=True)
        ratios.append(ratio(found) or 0)
    print(f"geometric mean {mean(ratios):.2f}, worst {min(ratios):.2f}")


if __name__ == "__main__":
    main()
