"""Matrix products as small models, against onnxruntime: GEMM, GEMV, batches as attention has them, half, and with an epilogue.

Run as ``python benchmarks/gemm_models.py [WORD …] [--threads N] [--rounds N] [--seconds S]``; words pick the titles that have one
of them. A row a model: GFLOP/s of each engine, by its fastest run, and onnxruntime's time divided by ours.
"""
import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare, mean, ratio  # noqa: E402

SIZES = [(128, 384, 384), (128, 384, 1536), (128, 1536, 384), (128, 768, 768), (128, 768, 3072), (128, 3072, 768),
         (1024, 1024, 1024), (512, 768, 3072), (7, 384, 384), (7, 768, 3072), (1, 384, 1536), (1, 4096, 4096), (1, 9216, 4096),
         (1, 768, 50257), (2, 4096, 4096), (128, 768, 8), (1000, 64, 1), (4, 10, 3)]
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16}
IR, OPSET = 10, 22


def drawn(shape: Any, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def model(nodes: list[Any], feeds: dict[str, np.ndarray], constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    """A model of some nodes with one output, y."""
    kind = KINDS[next(iter(feeds.values())).dtype]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(k, kind, v.shape) for k, v in feeds.items()],
                              [helper.make_tensor_value_info("y", kind, None)],
                              [numpy_helper.from_array(v, k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)


def products() -> Iterator[tuple[str, int, onnx.ModelProto, dict[str, np.ndarray]]]:
    """A title, the multiplications and additions of a run, the model and its feeds."""
    node = helper.make_node
    for m, k, n in SIZES:
        a, b = drawn((m, k)), drawn((k, n))
        yield f"{m}x{k}x{n}", 2 * m * k * n, model([node("MatMul", ["a", "b"], ["y"])], {"a": a}, {"b": b}), {"a": a}
    for m, k, n in [(128, 384, 1536), (1024, 1024, 1024), (7, 384, 384), (1, 4096, 4096)]:
        feeds = {"a": drawn((m, k)), "b": drawn((k, n))}
        yield f"{m}x{k}x{n} fed", 2 * m * k * n, model([node("MatMul", ["a", "b"], ["y"])], feeds, {}), feeds
        feeds = {"a": drawn((m, k)), "b": drawn((n, k))}
        made = model([node("Gemm", ["a", "b"], ["y"], transB=1)], feeds, {})
        yield f"{m}x{k}x{n} fed turned", 2 * m * k * n, made, feeds
    for h, q, d, t in [(12, 128, 64, 128), (12, 1, 64, 512), (12, 512, 64, 512)]:
        queries, keys = {"a": drawn((h, q, d)), "b": drawn((h, t, d))}, {"a": drawn((h, q, t)), "b": drawn((h, t, d))}
        turned = [node("Transpose", ["b"], ["c"], perm=[0, 2, 1]), node("MatMul", ["a", "c"], ["y"])]
        yield f"batch {h} of {q}x{d}x{t} turned", 2 * h * q * d * t, model(turned, queries, {}), queries
        yield f"batch {h} of {q}x{t}x{d}", 2 * h * q * d * t, model([node("MatMul", ["a", "b"], ["y"])], keys, {}), keys
    for m, k, n in [(128, 384, 1536), (1, 1024, 4096)]:
        a, constants = drawn((m, k)), {"b": drawn((k, n)), "c": drawn(n)}
        nodes = [node("Gemm", ["a", "b", "c"], ["x"]), node("Relu", ["x"], ["y"])]
        yield f"{m}x{k}x{n} bias relu", 2 * m * k * n, model(nodes, {"a": a}, constants), {"a": a}
        a, b = drawn((m, k), np.float16), drawn((k, n), np.float16)
        yield f"{m}x{k}x{n} half", 2 * m * k * n, model([node("MatMul", ["a", "b"], ["y"])], {"a": a}, {"b": b}), {"a": a}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1)
    given = parser.parse_args()
    ratios = []
    print(f"{'product':32s} {'onnxruntime':>12s} {'interp':>8s}  ratio")
    with tempfile.TemporaryDirectory() as folder:
        for title, work, made, feeds in products():
            if given.words and not any(w in title for w in given.words):
                continue
            path = Path(folder) / "model.onnx"
            onnx.save(made, path)
            found = compare(path, [feeds], given.threads, rounds=given.rounds, seconds=given.seconds)
            rates = [f"{work / found[e][1] / 1e9:8.1f}" if isinstance(found[e][0], float) else str(found[e]) for e in ENGINES]
            ratios.append(ratio(found) or 1)
            print(f"{title:32s} {rates[0]:>12s} {rates[1]:>8s}  {ratios[-1]:5.2f}", flush=True)
    print(f"geometric mean {mean(ratios):.2f}")


if __name__ == "__main__":
    main()
