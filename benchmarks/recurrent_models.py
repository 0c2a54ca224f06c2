"""Recurrent layers of well-known models as one-node models, and taggers of words, timed against onnxruntime.

Run as ``python benchmarks/recurrent_models.py [NAME ...] [--threads N] [--rounds N]``. A row a layer: the least milliseconds
of each engine, and onnxruntime's divided by ours.
"""
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import Case, table  # noqa: E402

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@dataclass(frozen=True)
class Layer:
    """A recurrent layer with constant weights."""

    cell: str
    steps: int
    batch: int
    inputs: int
    hidden: int
    both: bool = False

    @property
    def title(self) -> str:
        both = ", both ways" if self.both else ""
        return f"{self.cell} {self.inputs} to {self.hidden}, {self.steps} steps x {self.batch}{both}"


LAYERS = {
    "vad": Layer("LSTM", 1, 1, 128, 128),            # voice activity, a frame at a time
    "ocr": Layer("LSTM", 40, 1, 256, 256, True),     # text lines
    "ocr-small": Layer("LSTM", 80, 1, 96, 48, True),
    "encoder": Layer("LSTM", 100, 8, 512, 512),
    "batch": Layer("LSTM", 20, 64, 128, 128),
    "gru": Layer("GRU", 50, 1, 256, 256),
    "gru-step": Layer("GRU", 1, 1, 128, 128),
    "denoise": Layer("GRU", 100, 1, 64, 96, True),
    "rnn": Layer("RNN", 50, 4, 128, 128),
}


@dataclass(frozen=True)
class Tagger:
    """Words by number: an embedding, two layers of LSTMs both ways, a distribution over tags for each word."""

    steps: int
    batch: int
    hidden: int
    words: int = 5000
    embedded: int = 128
    tags: int = 50

    @property
    def title(self) -> str:
        return f"tagger, 2 x {self.hidden} both ways, {self.steps} words x {self.batch}"


TAGGERS = {"tagger": Tagger(40, 1, 128), "tagger-8": Tagger(40, 8, 128), "wide": Tagger(40, 1, 256), "wide-8": Tagger(40, 8, 256)}


def model(layer: Layer) -> ModelProto:
    """The layer alone; initial states are inputs, as in models that are fed piece by piece."""
    rng, g, d = np.random.default_rng(0), GATES[layer.cell], 1 + layer.both
    shapes = {"w": (d, g * layer.hidden, layer.inputs), "r": (d, g * layer.hidden, layer.hidden), "b": (d, 2 * g * layer.hidden)}
    constants = [numpy_helper.from_array((rng.standard_normal(s) / np.sqrt(layer.hidden)).astype(np.float32), k)
                 for k, s in shapes.items()]
    states = [k for k in ("h", "c") if k in fed(layer)]
    node = helper.make_node(layer.cell, ["x", "w", "r", "b", "", *states], ["y", *(f"{k}_end" for k in states)],
                            hidden_size=layer.hidden, direction="bidirectional" if layer.both else "forward")
    inputs = [helper.make_tensor_value_info(k, TensorProto.FLOAT, a.shape) for k, a in fed(layer).items()]
    outputs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in node.output]
    return helper.make_model(helper.make_graph([node], "layer", inputs, outputs, constants), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 14)])


def tagger(model: Tagger) -> ModelProto:
    """The nodes that an exporter writes, on words of (steps, batch)."""
    rng, h = np.random.default_rng(0), model.hidden
    sizes = {"e": (model.words, model.embedded), "out": (2 * h, model.tags), "bias": (model.tags,)}
    for k, inputs in enumerate((model.embedded, 2 * h)):
        sizes |= {f"w{k}": (2, 4 * h, inputs), f"r{k}": (2, 4 * h, h), f"b{k}": (2, 8 * h)}
    constants = [numpy_helper.from_array((rng.standard_normal(s) / np.sqrt(h)).astype(np.float32), k) for k, s in sizes.items()]
    constants.append(numpy_helper.from_array(np.array([0, 0, -1]), "merged"))
    nodes = [helper.make_node("Gather", ["e", "x"], ["y0"])]
    for k in range(2):
        nodes += [helper.make_node("LSTM", [f"y{k}", f"w{k}", f"r{k}", f"b{k}"], [f"l{k}"], hidden_size=h,
                                   direction="bidirectional"),
                  helper.make_node("Transpose", [f"l{k}"], [f"t{k}"], perm=[0, 2, 1, 3]),
                  helper.make_node("Reshape", [f"t{k}", "merged"], [f"y{k + 1}"])]
    nodes += [helper.make_node("MatMul", ["y2", "out"], ["m"]), helper.make_node("Add", ["m", "bias"], ["a"]),
              helper.make_node("Softmax", ["a"], ["tags"], axis=-1)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.INT64, (model.steps, model.batch))]
    outputs = [helper.make_tensor_value_info("tags", TensorProto.FLOAT, None)]
    return helper.make_model(helper.make_graph(nodes, "tagger", inputs, outputs, constants), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 14)])


def fed(layer: Layer) -> dict[str, np.ndarray]:
    rng, state = np.random.default_rng(1), (1 + layer.both, layer.batch, layer.hidden)
    shapes = {"x": (layer.steps, layer.batch, layer.inputs), "h": state} | ({"c": state} if layer.cell == "LSTM" else {})
    return {k: (rng.standard_normal(s) / 2).astype(np.float32) for k, s in shapes.items()}


def words(model: Tagger) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(1).integers(0, model.words, (model.steps, model.batch))}


def case(name: str) -> Case:
    if name in LAYERS:
        return Case(LAYERS[name].title, model(LAYERS[name]), [fed(LAYERS[name])])
    return Case(TAGGERS[name].title, tagger(TAGGERS[name]), [words(TAGGERS[name])])


if __name__ == "__main__":
    table(__doc__, [*LAYERS, *TAGGERS], lambda name: [case(name)], width=48)
