"""Reductions, positions and the k largest as one-node models, timed against onnxruntime.

Run as ``python benchmarks/reduce_models.py [ReduceMean TopK …] [--threads N] [--rounds N] [--types float32,float64,float16]``.
A row a model: the least microseconds of each engine, and onnxruntime's divided by ours.
"""
import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare  # noqa: E402


@dataclass(frozen=True)
class Row:
    """One operator, the shape it gets, and its axes or its k, which are a constant input."""

    op: str
    shape: tuple[int, ...]
    constant: tuple[int, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        settings = [*map(str, self.constant), *(f"{k}={v}" for k, v in self.attributes.items())]
        return f"{self.op} {'x'.join(map(str, self.shape))} {' '.join(settings)}"


ROWS = [
    Row("ReduceMean", (128, 384), (-1,)), Row("ReduceMean", (1, 128, 384), (-1,)), Row("ReduceMean", (64, 256, 14, 14), (2, 3)),
    Row("ReduceSum", (8, 64, 56, 56), (2, 3)), Row("ReduceSum", (8, 64, 56, 56), (0, 2, 3)), Row("ReduceSum", (1000000,), (0,)),
    Row("ReduceSum", (512, 512), (0,)), Row("ReduceMax", (8, 64, 56, 56), (1,)), Row("ReduceMax", (128, 384), (-1,)),
    Row("ReduceMin", (20, 1000, 3), (1,)), Row("ReduceL2", (128, 384), (-1,)), Row("ReduceProd", (128, 384), (-1,)),
    Row("ReduceLogSumExp", (128, 384), (-1,)), Row("ReduceLogSumExp", (8, 64, 28, 28), (1,)),
    Row("ArgMax", (128, 30522), attributes={"axis": -1}), Row("ArgMax", (1, 21, 128, 128), attributes={"axis": 1}),
    Row("TopK", (64, 1000), (5,)), Row("TopK", (1, 100000), (100,)), Row("TopK", (16, 8400), (300,)),
    Row("TopK", (64, 1000), (1000,)), Row("TopK", (8, 100, 64), (10,), {"axis": 1}), Row("CumSum", (128, 384), (1,)),
]


def model(row: Row, dtype: np.dtype) -> ModelProto:
    """The operator alone."""
    outputs = ["y", "at"] if row.op == "TopK" else ["y"]
    given = np.array(row.constant[0] if row.op == "CumSum" else row.constant, "i8")
    constants = [numpy_helper.from_array(given, "c")] if row.constant else []
    node = helper.make_node(row.op, ["x", *(c.name for c in constants)], outputs, **row.attributes)
    code = helper.np_dtype_to_tensor_dtype(dtype)
    kinds = {"y": TensorProto.INT64 if row.op.startswith("Arg") else code, "at": TensorProto.INT64}
    x = helper.make_tensor_value_info("x", code, row.shape)
    results = [helper.make_tensor_value_info(name, kinds[name], None) for name in outputs]
    return helper.make_model(helper.make_graph([node], "row", [x], results, constants), ir_version=10,
                             opset_imports=[helper.make_opsetid("", 18)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--types", default="float32")
    asked = parser.parse_args()
    for dtype in map(np.dtype, asked.types.split(",")):
        print(f"{dtype.name + ', ' + str(asked.threads) + ' thread(s)':44}{'onnxruntime':>13}{'interp':>9}{'ratio':>7}")
        for row in ROWS:
            if not asked.operators or row.op in asked.operators:
                with tempfile.TemporaryDirectory() as folder:
                    measure(row, dtype, asked.threads, asked.rounds, Path(folder))


def measure(row: Row, dtype: np.dtype, threads: int, rounds: int, folder: Path) -> None:
    """Print a row."""
    path = folder / "row.onnx"
    path.write_bytes(model(row, dtype).SerializeToString())
    feeds = {"x": np.random.default_rng(1).standard_normal(row.shape).astype(dtype)}
    found = compare(path, [feeds], threads, rounds=rounds, seconds=0.1)
    if any(isinstance(found[e], str) for e in ENGINES):
        print(f"{row.title:44}", *(f"{e}: {found[e]}" for e in ENGINES if isinstance(found[e], str)), flush=True)
        return
    theirs, ours = (1e6 * found[e][1] for e in ENGINES)
    print(f"{row.title:44}{theirs:13.1f}{ours:9.1f}{theirs / ours:7.2f}", flush=True)


if __name__ == "__main__":
    main()
