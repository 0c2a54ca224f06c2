"""Normalizations and attentions of well-known transformers as one-node models, timed against onnxruntime.

Run as ``python benchmarks/attention_models.py [norms attention] [--threads N] [--rounds N]``. A row a shape: the least
milliseconds of each engine, and onnxruntime's divided by ours.
"""
import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare  # noqa: E402


@dataclass(frozen=True)
class Layer:
    """One node: what a run feeds, what is constant, and its attributes."""

    op: str
    fed: tuple[tuple[int, ...], ...]
    constant: tuple[tuple[int, ...], ...] = ()
    attributes: dict[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.op} {'x'.join(map(str, self.fed[0]))}" + (" causal" if self.attributes else "")


def heads(rows: int, keys: int, size: int = 64, **attributes: object) -> Layer:
    """Twelve heads of attention."""
    return Layer("Attention", ((1, 12, rows, size), (1, 12, keys, size), (1, 12, keys, size)), (), attributes)


MODELS: dict[str, list[Layer]] = {
    "norms": [Layer("LayerNormalization", ((128, 384),), ((384,), (384,))),
              Layer("LayerNormalization", ((512, 768),), ((768,), (768,))),
              Layer("RMSNormalization", ((128, 384),), ((384,),)), Layer("RMSNormalization", ((512, 2048),), ((2048,),)),
              Layer("InstanceNormalization", ((1, 64, 56, 56),), ((64,), (64,)))],
    "attention": [heads(128, 128), heads(128, 128, is_causal=1), heads(1024, 1024), heads(1024, 1024, is_causal=1),
                  heads(1, 1024)],
}


def model(layer: Layer) -> ModelProto:
    """The layer alone."""
    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(len(layer.fed))]
    weights = {f"w{k}": rng.standard_normal(s).astype(np.float32) for k, s in enumerate(layer.constant)}
    node = helper.make_node(layer.op, [*names, *weights], ["y"], **layer.attributes)
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, layer.fed, strict=True)]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    initializers = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    return helper.make_model(helper.make_graph([node], "layer", inputs, [y], initializers), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 23)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{str(asked.threads) + ' thread(s)':44}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for number, layer in enumerate(layer for name in asked.models for layer in MODELS[name]):
            path = Path(folder) / f"{number:02}.onnx"
            path.write_bytes(model(layer).SerializeToString())
            rng = np.random.default_rng(1)
            feeds = {f"x{k}": rng.standard_normal(s).astype(np.float32) for k, s in enumerate(layer.fed)}
            found = compare(path, [feeds], asked.threads, rounds=asked.rounds, seconds=0.15)
            theirs, ours = (1000 * found[e][1] for e in ENGINES)
            print(f"{layer.title:44}{theirs:13.3f}{ours:9.3f}{theirs / ours:7.2f}", flush=True)


if __name__ == "__main__":
    main()
