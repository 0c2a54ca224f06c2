"""Classical models as one-node models, timed against onnxruntime: forests, support vector machines, linear models.

Run as ``python benchmarks/ml_models.py [NAME …] [--threads N] [--rounds N]``. A row a model and number of rows: the least
microseconds of each engine, and onnxruntime's divided by ours.
"""
import argparse
import sys
import tempfile
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="parts of names of models; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{str(asked.threads) + ' thread(s)':40}{'rows':>6}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (op, attributes) in models().items():
            if not asked.names or any(n in name for n in asked.names):
                path = Path(folder, "model.onnx")
                path.write_bytes(model(op, attributes).SerializeToString())
                for n in ROWS:
                    feeds = {"x": np.random.default_rng(1).standard_normal((n, FEATURES)).astype(np.float32)}
                    found = compare(path, [feeds], asked.threads, rounds=asked.rounds, seconds=0.15)
                    theirs, ours = (1e6 * found[e][1] for e in ENGINES)
                    print(f"{name:40}{n:6}{theirs:13.1f}{ours:9.1f}{theirs / ours:7.2f}", flush=True)


if __name__ == "__main__":
    main()
