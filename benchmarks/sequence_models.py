"""Transformers whose shapes change with every run: a decoder with a growing cache, an encoder of texts of all lengths.

Run as ``python benchmarks/sequence_models.py [NAME ...] [--threads N] [--rounds N]``. A row a model: the least milliseconds of
each engine for a run, over all lengths in turn, and onnxruntime's divided by ours.
"""
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import Case, table  # noqa: E402


@dataclass(frozen=True)
class Transformer:
    """Layers of attention and of two products with a Gelu between them; a decoder is fed a token and a cache at a time."""

    layers: int
    width: int
    heads: int
    decoder: bool
    lengths: range

    @property
    def title(self) -> str:
        kind = "decoder, a cache of" if self.decoder else "encoder, a text of"
        return f"{kind} {self.lengths[0]} to {self.lengths[-1]}, {self.layers} layers, {self.width} wide"


MODELS = {
    "decoder": Transformer(6, 384, 6, True, range(128, 192)),
    "decoder-768": Transformer(6, 768, 12, True, range(128, 160)),
    "encoder": Transformer(6, 384, 6, False, range(64, 128)),
    "encoder-short": Transformer(6, 384, 6, False, range(8, 40)),
}


class Writer:
    """Nodes and weights of a graph as exporters write it."""

    def __init__(self, model: Transformer):
        self.model, self.rng = model, np.random.default_rng(0)
        self.nodes: list = []
        self.constants: list = []

    def constant(self, name: str, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, name: str, *shape: int) -> str:
        return self.constant(name, (self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def node(self, kind: str, inputs: list[str], name: str, **attributes) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x: str, name: str, rows: int, columns: int) -> str:
        product = self.node("MatMul", [x, self.weights(f"{name}.w", rows, columns)], f"{name}.m")
        return self.node("Add", [product, self.weights(f"{name}.b", columns)], name)

    def normalized(self, x: str, name: str) -> str:
        scale = self.constant(f"{name}.scale", np.ones(self.model.width, np.float32))
        return self.node("LayerNormalization", [x, scale, self.weights(f"{name}.shift", self.model.width)], name, axis=-1)

    def heads(self, x: str, name: str, k: int) -> str:
        """(batch, heads, tokens, size) from (batch, tokens, width)."""
        width = self.model.width
        made = self.node("Reshape", [self.linear(x, f"{name}.p", width, width), "split"], f"{name}.r")
        return self.node("Transpose", [made], name, perm=[0, 2, 1, 3])

    def cached(self, x: str, name: str) -> str:
        return self.node("Concat", [f"past.{name}", x], f"present.{name}", axis=2) if self.model.decoder else x

    def layer(self, x: str, k: int) -> str:
        q = self.heads(x, f"q{k}", k)
        key, value = self.cached(self.heads(x, f"k{k}", k), f"k{k}"), self.cached(self.heads(x, f"v{k}", k), f"v{k}")
        turned = self.node("Transpose", [key], f"kt{k}", perm=[0, 1, 3, 2])
        scores = self.node("Div", [self.node("MatMul", [q, turned], f"s{k}"), "root"], f"d{k}")
        seen = self.node("MatMul", [self.node("Softmax", [scores], f"a{k}", axis=-1), value], f"c{k}")
        flat = self.node("Reshape", [self.node("Transpose", [seen], f"u{k}", perm=[0, 2, 1, 3]), "joined"], f"j{k}")
        width = self.model.width
        x = self.normalized(self.node("Add", [x, self.linear(flat, f"o{k}", width, width)], f"x{k}"), f"n{k}")
        inner = self.node("Gelu", [self.linear(x, f"f{k}", width, 4 * width)], f"g{k}")
        return self.normalized(self.node("Add", [x, self.linear(inner, f"h{k}", 4 * width, width)], f"z{k}"), f"y{k}")


def model(made: Transformer) -> ModelProto:
    to, size = Writer(made), made.width // made.heads
    to.constant("split", np.array([0, 0, made.heads, size]))
    to.constant("joined", np.array([0, 0, made.width]))
    to.constant("root", np.array(np.sqrt(size), np.float32))
    x = to.node("Gather", [to.weights("words", 1000, made.width), "tokens"], "e")
    for k in range(made.layers):
        x = to.layer(x, k)
    tokens = (1, 1 if made.decoder else "tokens")
    inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT64, tokens)]
    names = [f"{n}{k}" for k in range(made.layers) for n in "kv"] if made.decoder else []
    inputs += [helper.make_tensor_value_info(f"past.{n}", TensorProto.FLOAT, (1, made.heads, "past", size)) for n in names]
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, (*tokens, made.width))]
    outputs += [helper.make_tensor_value_info(f"present.{n}", TensorProto.FLOAT, (1, made.heads, "all", size)) for n in names]
    return helper.make_model(helper.make_graph(to.nodes, "transformer", inputs, outputs, to.constants), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 20)])


def fed(made: Transformer) -> list[dict[str, np.ndarray]]:
    """Feeds for one run after the other."""
    rng, size = np.random.default_rng(1), made.width // made.heads
    names = [f"past.{n}{k}" for k in range(made.layers) for n in "kv"] if made.decoder else []
    return [{"tokens": rng.integers(0, 1000, (1, 1 if made.decoder else n)),
             **{name: rng.standard_normal((1, made.heads, n, size)).astype(np.float32) for name in names}} for n in made.lengths]


if __name__ == "__main__":
    table(__doc__, MODELS, lambda name: [Case(MODELS[name].title, model(MODELS[name]), fed(MODELS[name]))],
          width=60, seconds=0.5, changing=True)
