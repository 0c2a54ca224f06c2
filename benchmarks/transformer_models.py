"""Encoders like BERT in the spelling that torch.onnx writes, with random weights, timed against onnxruntime.

Run as ``python benchmarks/transformer_models.py [mini base] [--threads N] [--rounds N]``: six layers, 384 and 768 wide, of a
sequence of 128. LayerNormalization and Gelu are spelled out, heads are reshaped and transposed, the mask is added to the scores.
"""
import sys
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import Case, table  # noqa: E402

WIDTHS = {"mini": 384, "base": 768}
HEADS, LAYERS, SEQUENCE = 12, 6, 128


class Writer:
    """Nodes and weights of a model, one after the other."""

    def __init__(self) -> None:
        self.nodes: list = []
        self.weights: list = []
        self.rng = np.random.default_rng(0)

    def weight(self, *shape: int, scale: float = 0.05) -> str:
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def number(self, value: float) -> str:
        return self.constant(np.float32(value))

    def sizes(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def linear(self, x: str, inputs: int, outputs: int) -> str:
        return self.add("Add", self.weight(outputs), self.add("MatMul", x, self.weight(inputs, outputs)))

    def norm(self, x: str, width: int) -> str:
        """LayerNormalization as opset 16 has to spell it."""
        apart = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", apart, self.number(2)), axes=[-1])
        normal = self.add("Div", apart, self.add("Sqrt", self.add("Add", variance, self.number(1e-12))))
        return self.add("Add", self.add("Mul", normal, self.weight(width)), self.weight(width))

    def gelu(self, x: str) -> str:
        share = self.add("Add", self.add("Erf", self.add("Div", x, self.number(np.sqrt(2)))), self.number(1))
        return self.add("Mul", self.add("Mul", x, share), self.number(0.5))

    def heads(self, x: str, width: int, perm: list[int]) -> str:
        return self.add("Transpose", self.add("Reshape", x, self.sizes(1, SEQUENCE, HEADS, width // HEADS)), perm=perm)

    def attention(self, x: str, mask: str, width: int) -> str:
        q, k, v = (self.linear(x, width, width) for _ in range(3))
        scores = self.add("MatMul", self.heads(q, width, [0, 2, 1, 3]), self.heads(k, width, [0, 2, 3, 1]))
        scores = self.add("Add", self.add("Div", scores, self.number(np.sqrt(width // HEADS))), mask)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), self.heads(v, width, [0, 2, 1, 3]))
        mixed = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), self.sizes(1, SEQUENCE, width))
        return self.norm(self.add("Add", self.linear(mixed, width, width), x), width)

    def layer(self, x: str, mask: str, width: int) -> str:
        x = self.attention(x, mask, width)
        inner = self.gelu(self.linear(x, width, 4 * width))
        return self.norm(self.add("Add", self.linear(inner, 4 * width, width), x), width)


def encoder(width: int, layers: int = LAYERS) -> ModelProto:
    """Ids and a mask to the hidden state of every token."""
    w = Writer()
    embedded = w.add("Add", w.add("Gather", w.weight(3000, width), "ids"), w.weight(SEQUENCE, width))
    x = w.norm(embedded, width)
    mask = w.add("Unsqueeze", "mask", w.sizes(1, 2))
    mask = w.add("Mul", w.add("Sub", w.number(1), w.add("Cast", mask, to=TensorProto.FLOAT)), w.number(-10000))
    for _ in range(layers):
        x = w.layer(x, mask, width)
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, [1, SEQUENCE]) for n in ("ids", "mask")]
    output = helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, SEQUENCE, width])
    return helper.make_model(helper.make_graph(w.nodes, "encoder", inputs, [output], w.weights), ir_version=8,
                             opset_imports=[helper.make_opsetid("", 16)])


def fed() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    mask = np.ones((1, SEQUENCE), np.int64)
    mask[:, 100:] = 0
    return {"ids": rng.integers(0, 3000, (1, SEQUENCE)), "mask": mask}


if __name__ == "__main__":
    table(__doc__, WIDTHS, lambda name: [Case(name, encoder(WIDTHS[name]), [fed()])], seconds=0.3)
