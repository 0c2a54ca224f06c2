"""The models that this folder makes, as cases of one kind for `report.py`, and those whose size grows."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import ml_models
import numpy as np
import quantize_models
import recurrent_models
import sequence_models
import transformer_models
import vision_models
from onnx import ModelProto, TensorProto, helper

Feeds = dict[str, np.ndarray]


@dataclass
class Case:
    """A model and what it is fed; with ``changing``, run after run the next of its feeds."""

    name: str
    model: ModelProto
    feeds: list[Feeds]
    changing: bool = False


def image(*shape: int) -> Feeds:
    return {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}


def cases() -> Iterator[Case]:
    """CNNs, encoders, decoders, taggers, quantised networks and a forest."""
    for name, network in vision_models.MODELS.items():
        yield Case(name, network(), [image(1, 4, 64, 64) if name == "unet" else image(1, 3, 224, 224)])
    for name, width in transformer_models.WIDTHS.items():
        yield Case(f"encoder {name}, 128 tokens", transformer_models.encoder(width), [transformer_models.fed()])
    for name, transformer in sequence_models.MODELS.items():
        yield Case(f"{name}, other lengths", sequence_models.model(transformer), sequence_models.fed(transformer), True)
    for name, tagger in recurrent_models.TAGGERS.items():
        yield Case(f"LSTM {name}", recurrent_models.tagger(tagger), [recurrent_models.words(tagger)])
    for layer in quantize_models.NETWORKS["whole"]:
        yield Case(layer.title, quantize_models.model(layer), [{"x": layer.fed}])
    forest = ml_models.forest(200, 8, 3, "class") | {"classlabels_int64s": [0, 1, 2], "post_transform": "SOFTMAX"}
    yield Case("200 trees, 1000 rows", ml_models.model("TreeEnsembleClassifier", forest), [image(1000, ml_models.FEATURES)])


def growing() -> Iterator[tuple[str, str, list[tuple[int, ModelProto, Feeds]]]]:
    """What grows, the unit of its work, and for each size a model and its feeds."""
    network = vision_models.mobilenet_v3()
    network.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    yield "images of mobilenet_v3", "image", [(n, network, image(n, 3, 224, 224)) for n in (1, 2, 4, 8)]
    encoder = sequence_models.MODELS["encoder"]
    made, rng = sequence_models.model(encoder), np.random.default_rng(1)
    yield "tokens of an encoder", "token", [(n, made, {"tokens": rng.integers(0, 1000, (1, n))}) for n in (32, 64, 128, 256)]
    yield "nodes of a chain", "node", [(n, chain(n), image(1, 8)) for n in (10, 100, 1000, 10000)]


def chain(nodes: int) -> ModelProto:
    """Small operators, one after the other, that nothing fuses."""
    names = ["x", *(f"v{k}" for k in range(nodes))]
    made = [helper.make_node("Softmax", [a], [b], axis=-1) for a, b in zip(names, names[1:], strict=False)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8]) for n in (names[0], names[-1]))
    graph = helper.make_graph(made, "chain", [x], [y])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def shared() -> tuple[str, ModelProto, Feeds]:
    """A model that two threads share well."""
    return "unet", vision_models.unet(), image(1, 4, 64, 64)
