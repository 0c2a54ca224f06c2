"""Elementwise operators, softmax, transposes and lookups of well-known networks as one-node models, timed against onnxruntime.

Run as ``python benchmarks/elementwise_models.py [unary binary moves] [--threads N] [--rounds N]``. A row a shape: the least
milliseconds of each engine, and onnxruntime's divided by ours.
"""
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ModelProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import Case, table  # noqa: E402

Shape = tuple[int, ...]
BERT, IMAGE = (1, 128, 1536), (1, 64, 56, 56)


@dataclass(frozen=True)
class Layer:
    """One node: what a run feeds, what is constant, and its attributes."""

    op: str
    fed: tuple[Shape, ...]
    constant: tuple[np.ndarray, ...] = ()
    attributes: dict[str, object] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        shapes = " ".join("x".join(map(str, s)) for s in (*self.fed, *(c.shape for c in self.constant)))
        return f"{self.op} {shapes} {' '.join(map(str, self.attributes.values()))}".strip()

    def feeds(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(1)
        found = {}
        for k, shape in enumerate(self.fed):
            dtype = self.dtypes[k] if self.dtypes else "float32"
            values = rng.standard_normal(shape)
            found[f"x{k}"] = values > 0 if dtype == "bool" else (np.abs(values) * 20).astype(dtype) if "int" in dtype else \
                (np.abs(values) + 0.1 if self.op in ("Sqrt", "Log", "Pow") else values).astype(dtype)
        return found


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32) + 3


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


UNARY = ("Exp", "Tanh", "Erf", "Sigmoid", "Gelu", "HardSwish", "HardSigmoid", "Relu", "LeakyRelu", "Sqrt", "Log", "Reciprocal",
         "Softplus", "Elu", "Abs", "Neg", "Floor", "Mish")
PAIRED: tuple[tuple[Shape, Shape], ...] = (
    (IMAGE, (1, 64, 1, 1)), (IMAGE, IMAGE), ((1, 512, 7, 7), (1, 512, 1, 1)), (BERT, (1536,)), ((1, 128, 384), (1, 128, 1)),
    ((1, 8, 56, 56, 8), (1, 8, 1, 1, 8)), ((1, 12, 128, 128), (1, 1, 1, 128)), ((1, 128, 384), ()), ((1, 384, 128), (1, 1, 128)))
MODELS: dict[str, list[Layer]] = {
    "unary": [Layer(op, (BERT,)) for op in UNARY] + [Layer("Relu", (IMAGE,)), Layer("Sigmoid", ((1, 64, 1, 1),))]
    + [Layer("Clip", (IMAGE,), (np.float32(0), np.float32(6)))]
    + [Layer("Pow", (BERT,), (np.float32(p),)) for p in (2, 3, 0.5)]
    + [Layer("Cast", (BERT,), (), {"to": 10}), Layer("Cast", ((1, 128, 384),), (), {"to": 1}, ("int64",))],
    "binary": [Layer(op, p) for op in ("Add", "Mul") for p in PAIRED] + [Layer("Div", PAIRED[3]), Layer("Max", PAIRED[1])]
    + [Layer("Where", ((1, 1, 128, 128), (1, 12, 128, 128), (1,)), (), {}, ("bool", "float32", "float32")),
       Layer("Equal", ((1, 128, 384), (1, 128, 384))), Layer("PRelu", (IMAGE,), (numbers(64, 1, 1),))],
    "moves": [Layer("Softmax", ((1, 12, 128, 128),)), Layer("Softmax", ((1, 1000),)), Layer("Softmax", ((12, 1024, 1024),)),
              Layer("Transpose", ((1, 128, 12, 64),), (), {"perm": [0, 2, 1, 3]}),
              Layer("Transpose", ((1, 128, 12, 64),), (), {"perm": [0, 2, 3, 1]}),
              Layer("Transpose", ((1, 12, 128, 64),), (), {"perm": [0, 1, 3, 2]}),
              Layer("Transpose", ((1, 64, 56, 56),), (), {"perm": [0, 2, 3, 1]}),
              Layer("Gather", ((1, 128),), (), {}, ("int64",)),
              Layer("Concat", ((1, 64, 28, 28), (1, 96, 28, 28)), (), {"axis": 1}),
              Layer("Concat", ((1, 128, 384), (1, 128, 384)), (), {"axis": 2}),
              Layer("Slice", ((1, 128, 1152),), (ints(384), ints(768), ints(2))),
              Layer("Split", ((1, 128, 1152),), (), {"axis": 2, "num_outputs": 3}),
              Layer("Expand", ((1, 1, 1, 128),), (ints(1, 12, 128, 128),)),
              Layer("ReduceMean", (BERT,), (ints(2),)), Layer("ReduceMean", (IMAGE,), (ints(2, 3),))],
}


def model(layer: Layer) -> ModelProto:
    """The layer alone."""
    fed = layer.feeds()
    weights = {f"w{k}": np.asarray(c) for k, c in enumerate(layer.constant)}
    names = [*fed, *weights]
    if layer.op == "Gather":
        weights["table"] = numbers(3000, 384)
        names = ["table", *fed]
    outputs = [f"y{k}" for k in range(int(layer.attributes.get("num_outputs", 1)))]  # type: ignore[call-overload]
    node = helper.make_node(layer.op, names, outputs, **layer.attributes)
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in fed.items()]
    of = {"Equal": 9}.get(layer.op, layer.attributes.get("to", 1))
    made = [helper.make_tensor_value_info(o, of, None) for o in outputs]
    initializers = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    return helper.make_model(helper.make_graph([node], "layer", inputs, made, initializers), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 22)])


if __name__ == "__main__":
    table(__doc__, MODELS, lambda name: (Case(layer.title, model(layer), [layer.feeds()]) for layer in MODELS[name]),
          width=52, seconds=0.05)
