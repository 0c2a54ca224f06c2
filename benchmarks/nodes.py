"""What a node costs beside its arithmetic: once bound, and where every run brings shapes that are new.

Run as ``python benchmarks/nodes.py``: 500 tiny additions in a chain, and sixty nodes of eight operators.
"""
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare  # noqa: E402


def chain(length: int = 500) -> onnx.ModelProto:
    """Additions of one row, each to the last one's result."""
    names = ["x", *(f"v{i}" for i in range(1, length)), "y"]
    nodes = [helper.make_node("Add", [a, "w"], [b]) for a, b in zip(names, names[1:], strict=False)]
    return model(nodes, ["N", 16], [numpy_helper.from_array(np.full(16, 0.5, np.float32), "w")])


def mixed() -> onnx.ModelProto:
    """Six blocks of elementwise operators, pooling, views and products."""
    rng, nodes, weights, x = np.random.default_rng(0), [], [], "x"

    def node(kind: str, *inputs: str, **attributes: object) -> str:
        nodes.append(helper.make_node(kind, list(inputs), [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def weight(*shape: int) -> str:
        weights.append(numpy_helper.from_array((rng.standard_normal(shape) / 6).astype(np.float32), f"w{len(weights)}"))
        return weights[-1].name

    weights.append(numpy_helper.from_array(np.array([-1, 2, 4, 4]), "shape"))
    for _ in range(6):
        a = node("Mul", node("Add", node("Relu", x), x), weight(4))
        b = node("Flatten", node("MaxPool", a, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), axis=1)
        c = node("Relu", node("Add", node("MatMul", b, weight(32, 32)), weight(32)))
        x = node("Add", node("Reshape", c, "shape"), a)
    nodes[-1].output[0] = "y"
    return model(nodes, ["N", 2, 4, 4], weights)


def model(nodes: list, shape: list, weights: list) -> onnx.ModelProto:
    """A model from x to y, both of one shape."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy")
    graph = helper.make_graph(nodes, "nodes", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, made, shape in (("chain", chain(), (16,)), ("mixed", mixed(), (2, 4, 4))):
            path = Path(folder) / f"{name}.onnx"
            onnx.save(made, path)
            nodes = len(made.graph.node)
            rng = np.random.default_rng(0)
            lengths = [{"x": rng.standard_normal((n, *shape)).astype(np.float32)} for n in range(1, 21)]
            for what, feeds, changing in (("one shape", lengths[:1], False), ("a new length every run", lengths, True)):
                found = compare(path, feeds, changing=changing)
                print(f"{name:6s} {nodes:4d} nodes  {what:22s}  " +
                      "   ".join(f"{e} {1e9 * found[e][0] / nodes:8.1f} ns a node (least {1e9 * found[e][1] / nodes:.1f})"
                                 for e in ENGINES), flush=True)


if __name__ == "__main__":
    main()
