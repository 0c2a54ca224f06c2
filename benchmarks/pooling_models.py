"""Pooling as one-node models, as CNNs have it: written into a folder, or compared with onnxruntime at once.

Run as ``python benchmarks/pooling_models.py [--threads 1,2] [--types float32,float16,float64,bfloat16] [--save FOLDER]``.
"""
import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare, mean, ratio  # noqa: E402

CODES = {"float32": onnx.TensorProto.FLOAT, "float16": onnx.TensorProto.FLOAT16, "float64": onnx.TensorProto.DOUBLE,
         "bfloat16": onnx.TensorProto.BFLOAT16}
MAP, LARGE = (1, 64, 112, 112), (1, 64, 224, 224)
OVER_3_BY_2 = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
OVER_3_BY_1 = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
OVER_2_BY_2 = {"kernel_shape": [2, 2], "strides": [2, 2]}
NODES: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "max_3x3_s2": ("MaxPool", MAP, OVER_3_BY_2),
    "max_2x2_s2": ("MaxPool", LARGE, OVER_2_BY_2),
    "average_2x2_s2": ("AveragePool", MAP, OVER_2_BY_2),
    "average_3x3_s1": ("AveragePool", MAP, OVER_3_BY_1),
    "global_average_7": ("GlobalAveragePool", (1, 2048, 7, 7), {}),
    "global_average_28": ("GlobalAveragePool", (8, 512, 28, 28), {}),
    "lp_3x3_p2": ("LpPool", MAP, {**OVER_3_BY_1, "p": 2}),
    "lp_3x3_p3": ("LpPool", MAP, {**OVER_3_BY_1, "p": 3}),
    "global_lp_p1": ("GlobalLpPool", (8, 256, 56, 56), {"p": 1}),
    "global_lp_p2": ("GlobalLpPool", (8, 256, 56, 56), {"p": 2}),
    "global_lp_p3": ("GlobalLpPool", (8, 256, 56, 56), {"p": 3}),
}


def model(op: str, shape: tuple[int, ...], attributes: dict[str, Any], element: str) -> onnx.ModelProto:
    """One node in the newest version that its type and onnxruntime have."""
    opset = 22 if element == "bfloat16" else 18
    graph = helper.make_graph([helper.make_node(op, ["X"], ["Y"], **attributes)], op,
                              [helper.make_tensor_value_info("X", CODES[element], shape)],
                              [helper.make_tensor_value_info("Y", CODES[element], [None] * len(shape))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def saved(folder: str, elements: list[str]) -> Iterator[tuple[Path, str, str]]:
    """Write the models; their names say operator, window and type."""
    for element in elements:
        for name, (op, shape, attributes) in NODES.items():
            onnx.save(model(op, shape, attributes, element), path := Path(folder) / f"{name}_{element}.onnx")
            yield path, name, element


def told(seconds: list | None) -> str:
    """The least time of an engine, or that it does not run the model."""
    return f"{1e3 * seconds[1]:11.3f} ms" if seconds and isinstance(seconds[-1], float) else f"{'refused':>14s}"


def measured(folder: str, elements: list[str], threads: list[int], options: dict[str, Any]) -> Iterator[float]:
    """Print a row a model and number of threads; the ratios."""
    for path, name, element in saved(folder, elements):
        dtype = helper.tensor_dtype_to_np_dtype(CODES[element])
        feeds = {"X": np.random.default_rng(0).standard_normal(NODES[name][1]).astype(dtype)}
        for t in threads:
            found = compare(path, [feeds], t, **options)
            better = ratio(found)
            print(f"{name:20s} {element:9s} {t:7d}  {'  '.join(map(told, map(found.get, ENGINES)))}  "
                  f"{f'{better:.2f}' if better else '-'}", flush=True)
            if better:
                yield better


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--types", default="float32")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--save", metavar="FOLDER", help="write the models and measure nothing")
    given = parser.parse_args()
    elements = given.types.split(",")
    if given.save:
        for path, _, _ in saved(given.save, elements):
            print(path)
        return
    print(f"{'node':20s} {'type':9s} threads  {'onnxruntime':>14s}  {'interp':>14s}  ratio")
    with tempfile.TemporaryDirectory() as folder:
        ratios = list(measured(folder, elements, [int(t) for t in given.threads.split(",")], {"rounds": given.rounds}))
    print(f"geometric mean {mean(ratios):.2f}, worst {min(ratios):.2f}, of {len(ratios)} rows")


if __name__ == "__main__":
    main()
