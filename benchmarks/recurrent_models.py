"""Recurrent layers of well-known models as one-node models, timed against onnxruntime.

Run as ``python benchmarks/recurrent_models.py [NAME ...] [--threads N] [--rounds N]``. A row a layer: the least milliseconds
of each engine, and onnxruntime's divided by ours.
"""
import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare  # noqa: E402

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


def fed(layer: Layer) -> dict[str, np.ndarray]:
    rng, state = np.random.default_rng(1), (1 + layer.both, layer.batch, layer.hidden)
    shapes = {"x": (layer.steps, layer.batch, layer.inputs), "h": state} | ({"c": state} if layer.cell == "LSTM" else {})
    return {k: (rng.standard_normal(s) / 2).astype(np.float32) for k, s in shapes.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", nargs="*", default=list(LAYERS), help=", ".join(LAYERS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{str(asked.threads) + ' thread(s)':48}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name in asked.layers:
            layer, path = LAYERS[name], Path(folder) / f"{name}.onnx"
            path.write_bytes(model(layer).SerializeToString())
            found = compare(path, [fed(layer)], asked.threads, rounds=asked.rounds, seconds=0.15)
            theirs, ours = (1000 * found[e][1] for e in ENGINES)
            print(f"{layer.title:48}{theirs:13.4f}{ours:9.4f}{theirs / ours:7.2f}", flush=True)


if __name__ == "__main__":
    main()
