"""Normalizations and attentions of well-known transformers as one-node models, timed against onnxruntime.

Run as ``python benchmarks/attention_models.py [norms attention] [--threads N] [--rounds N]``. A row a shape: the least
milliseconds of each engine, and onnxruntime's divided by ours.
"""
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from layers import Case, table  # noqa: E402


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


def fed(layer: Layer) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {f"x{k}": rng.standard_normal(s).astype(np.float32) for k, s in enumerate(layer.fed)}


if __name__ == "__main__":
    table(__doc__, MODELS, lambda name: (Case(layer.title, model(layer), [fed(layer)]) for layer in MODELS[name]))
