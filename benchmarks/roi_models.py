"""Pooling over regions as one-node models: 300 regions of a map of 256 x 50 x 50, as a detector's head has them.

Run as ``python benchmarks/roi_models.py [--threads 1,2] [--types float32,float16,float64,bfloat16]``.
"""
import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engines import ENGINES, compare, mean, ratio  # noqa: E402

REGIONS, CHANNELS, SIZE, STRIDE = 300, 256, 50, 16
ALIGN = {"output_height": 7, "output_width": 7, "spatial_scale": 1 / STRIDE}
NODES = {
    "MaxRoiPool": ("MaxRoiPool", {"pooled_shape": [7, 7], "spatial_scale": 1 / STRIDE}),
    "RoiAlign, adaptive": ("RoiAlign", {**ALIGN, "sampling_ratio": 0}),
    "RoiAlign, 2 x 2": ("RoiAlign", {**ALIGN, "sampling_ratio": 2}),
    "RoiAlign, max": ("RoiAlign", {**ALIGN, "sampling_ratio": 2, "mode": "max"}),
}


def feeds_of(op: str, dtype: np.dtype) -> dict[str, np.ndarray]:
    """A map and boxes of 1 to 25 cells."""
    rng = np.random.default_rng(0)
    corner = rng.uniform(0, SIZE * STRIDE, (REGIONS, 2))
    boxes = np.clip(np.hstack([corner, corner + rng.uniform(16, 400, (REGIONS, 2))]), 0, SIZE * STRIDE - 1)
    feeds = {"X": rng.standard_normal((1, CHANNELS, SIZE, SIZE)).astype(dtype)}
    if op == "MaxRoiPool":
        return feeds | {"rois": np.column_stack([np.zeros(REGIONS), boxes]).astype(dtype)}
    return feeds | {"rois": boxes.astype(dtype), "batch_indices": np.zeros(REGIONS, np.int64)}


def model(op: str, attributes: dict, feeds: dict[str, np.ndarray]) -> onnx.ModelProto:
    """One node in the newest version that its type and onnxruntime have."""
    types = {name: helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in feeds.items()}
    graph = helper.make_graph(
        [helper.make_node(op, list(feeds), ["Y"], **attributes)], op,
        [helper.make_tensor_value_info(name, types[name], a.shape) for name, a in feeds.items()],
        [helper.make_tensor_value_info("Y", types["X"], [REGIONS, CHANNELS, 7, 7])])
    opset = 22 if types["X"] == onnx.TensorProto.BFLOAT16 else 16
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def told(seconds: list | None) -> str:
    """The least time of an engine, or that it does not run the model."""
    return f"{1e3 * seconds[1]:11.2f} ms" if seconds and isinstance(seconds[-1], float) else f"{'refused':>14s}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--types", default="float32")
    given = parser.parse_args()
    ratios = []
    print(f"{'node':20s} {'type':9s} threads  {'onnxruntime':>14s}  {'interp':>14s}  ratio")
    for element in given.types.split(","):
        code = onnx.TensorProto.DataType.Value({"float32": "FLOAT", "float64": "DOUBLE"}.get(element, element.upper()))
        for name, (op, attributes) in NODES.items():
            feeds = feeds_of(op, helper.tensor_dtype_to_np_dtype(code))
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(model(op, attributes, feeds), path := f"{folder}/model.onnx")
                for threads in map(int, given.threads.split(",")):
                    found = compare(path, [feeds], threads)
                    better = ratio(found)
                    ratios += [better] if better else []
                    print(f"{name:20s} {element:9s} {threads:7d}  {'  '.join(map(told, map(found.get, ENGINES)))}  "
                          f"{f'{better:.1f}' if better else '-'}", flush=True)
    if ratios:
        print(f"geometric mean {mean(ratios):.1f}, worst {min(ratios):.1f}, of {len(ratios)} rows")


if __name__ == "__main__":
    main()
