"""Classical models timed against onnxruntime: forests, support vector machines and linear models of one node, and pipelines.

Run as ``python benchmarks/ml_models.py [NAME …] [--threads N] [--rounds N]``. A row a model and number of rows: the least
microseconds of each engine, and onnxruntime's divided by ours.
"""
import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare  # noqa: E402

ML = "ai.onnx.ml"
ROWS = (1, 10, 1000)
FEATURES = 20


def forest(trees: int, depth: int, scores: int, kind: str) -> dict[str, Any]:
    """Full trees: the children of node i are 2i + 1 and 2i + 2, and each leaf has a vote."""
    rng = np.random.default_rng(0)
    inner, n = 2**depth - 1, 2 ** (depth + 1) - 1
    modes = ["BRANCH_LEQ"] * inner + ["LEAF"] * (n - inner)
    ids = np.arange(n)
    yes, no = np.where(ids < inner, 2 * ids + 1, 0), np.where(ids < inner, 2 * ids + 2, 0)
    leaves = ids[inner:]
    numbers = np.arange(trees)
    return {"nodes_treeids": np.repeat(numbers, n).tolist(), "nodes_nodeids": np.tile(ids, trees).tolist(),
            "nodes_modes": modes * trees, "nodes_featureids": rng.integers(0, FEATURES, n * trees).tolist(),
            "nodes_values": rng.normal(size=n * trees).tolist(), "nodes_truenodeids": np.tile(yes, trees).tolist(),
            "nodes_falsenodeids": np.tile(no, trees).tolist(), f"{kind}_treeids": np.repeat(numbers, len(leaves)).tolist(),
            f"{kind}_nodeids": np.tile(leaves, trees).tolist(),
            f"{kind}_ids": rng.integers(0, scores, trees * len(leaves)).tolist(),
            f"{kind}_weights": rng.normal(size=trees * len(leaves)).tolist()}


def machine(classes: int, each: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n, pairs = classes * each, classes * (classes - 1) // 2
    return {"vectors_per_class": [each] * classes, "support_vectors": rng.normal(size=n * FEATURES).tolist(),
            "coefficients": rng.normal(size=n * (classes - 1)).tolist(), "rho": rng.normal(size=pairs).tolist(),
            "prob_a": [-1.0] * pairs, "prob_b": [0.0] * pairs, "kernel_type": "RBF", "kernel_params": [0.05, 0.0, 3.0],
            "classlabels_ints": list(range(classes))}


def linear(classes: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"coefficients": rng.normal(size=classes * FEATURES).tolist(), "intercepts": rng.normal(size=classes).tolist(),
            "classlabels_ints": list(range(classes)), "post_transform": "SOFTMAX", "multi_class": 1}


def models() -> dict[str, tuple[str, dict[str, Any]]]:
    """An operator and its attributes by name."""
    labels = {"classlabels_int64s": [0, 1, 2], "post_transform": "SOFTMAX"}
    return {
        "regressor, 100 trees of depth 6": ("TreeEnsembleRegressor", forest(100, 6, 1, "target") | {"n_targets": 1}),
        "classifier, 100 trees of depth 6": ("TreeEnsembleClassifier", forest(100, 6, 3, "class") | labels),
        "regressor, 500 trees of depth 10": ("TreeEnsembleRegressor", forest(500, 10, 1, "target") | {"n_targets": 1}),
        "regressor, 200 trees of depth 8": ("TreeEnsembleRegressor", forest(200, 8, 1, "target") | {"n_targets": 1}),
        "svm, 600 vectors": ("SVMClassifier", machine(3, 200)),
        "linear, 10 classes": ("LinearClassifier", linear(10)),
    }


def model(op: str, attributes: dict[str, Any]) -> ModelProto:
    outputs = ["y"] if op.endswith("Regressor") else ["label", "y"]
    node = helper.make_node(op, ["x"], outputs, domain=ML, **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", FEATURES))
    y = [helper.make_tensor_value_info(o, TensorProto.INT64 if o == "label" else TensorProto.FLOAT, None) for o in outputs]
    return helper.make_model(helper.make_graph([node], op, [x], y), ir_version=8,
                             opset_imports=[helper.make_opsetid(ML, 1), helper.make_opsetid("", 18)])


def typed(name: str, kind: int, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def maps(name: str) -> Any:
    """An output that ZipMap makes of labels that are strings."""
    held = helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, ()))
    return helper.make_value_info(name, helper.make_sequence_type_proto(held))


def pipeline(nodes: list[Any], given: Any, constants: list[Any]) -> ModelProto:
    """Nodes that end in a classifier whose labels are strings, and a map of probabilities for each row."""
    classifier = helper.make_node("LinearClassifier", ["features"], ["label", "p"], domain=ML, **named())
    zipped = helper.make_node("ZipMap", ["p"], ["maps"], domain=ML, classlabels_strings=list("abc"))
    graph = helper.make_graph([*nodes, classifier, zipped], "pipeline", [given],
                              [typed("label", TensorProto.STRING, None), maps("maps")], constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid(ML, 1), helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)])


def named() -> dict[str, Any]:
    without = {k: v for k, v in linear(3).items() if k != "classlabels_ints"}
    return without | {"classlabels_strings": list("abc")}


def numbers_to_maps() -> ModelProto:
    """Scaled features, and dictionaries of probabilities."""
    scaler = helper.make_node("Scaler", ["x"], ["features"], domain=ML, offset=[0.5] * FEATURES, scale=[2.0] * FEATURES)
    return pipeline([scaler], typed("x", TensorProto.FLOAT, ("N", FEATURES)), [])


def texts_to_maps() -> ModelProto:
    """Texts in lower case, cut into words, words counted."""
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["a"]),
        helper.make_node("StringNormalizer", ["a"], ["b"], case_change_action="LOWER", is_case_sensitive=0,
                         locale="C.UTF-8"),
        helper.make_node("Tokenizer", ["b"], ["c"], domain="com.microsoft", mark=0, mincharnum=1, pad_value="#",
                         tokenexp="[a-zA-Z]+"),
        helper.make_node("TfIdfVectorizer", ["c"], ["d"], mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0,
                         ngram_counts=[0], ngram_indexes=list(range(FEATURES)), pool_strings=WORDS[:FEATURES]),
        helper.make_node("Normalizer", ["d"], ["features"], domain=ML, norm="L2")]
    return pipeline(nodes, typed("x", TensorProto.STRING, ("N", 1)), [helper.make_tensor("flat", TensorProto.INT64, [1], [-1])])


LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [a + b + c for a, b, c in zip(LETTERS[:25], LETTERS[1:], LETTERS[13:] + LETTERS[:12], strict=True)]


def numbers(n: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal((n, FEATURES)).astype(np.float32)


def texts(n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.array([[" ".join(rng.choice(WORDS, 8)).title()] for _ in range(n)], object)


def cases() -> Iterator[tuple[str, Callable[[], ModelProto], Callable[[int], np.ndarray]]]:
    """A name, what makes the model, and what makes its input for a number of rows."""
    for name, (op, attributes) in models().items():
        yield name, partial(model, op, attributes), numbers
    yield "pipeline: numbers to maps", numbers_to_maps, numbers
    yield "pipeline: texts to maps", texts_to_maps, texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of models; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{str(asked.threads) + ' thread(s)':40}{'rows':>6}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, make, rows in cases():
            if not asked.names or any(n in name for n in asked.names):
                path = Path(folder, "model.onnx")
                path.write_bytes(make().SerializeToString())
                for n in ROWS:
                    feeds = {"x": rows(n)}
                    found = compare(path, [feeds], asked.threads, rounds=asked.rounds, seconds=0.15)
                    theirs, ours = (1e6 * found[e][1] for e in ENGINES)
                    print(f"{name:40}{n:6}{theirs:13.1f}{ours:9.1f}{theirs / ours:7.2f}", flush=True)


if __name__ == "__main__":
    main()
