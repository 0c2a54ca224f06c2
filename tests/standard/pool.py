"""Pooling and regions of interest, by the formulas of tests/oracle."""
import numpy as np

from .. import oracle
from .case import Case, case

POOLS = {"AveragePool": oracle.average_pool, "MaxPool": oracle.max_pool, "LpPool": oracle.lp_pool}
GLOBAL = {"GlobalAveragePool": oracle.global_average_pool, "GlobalMaxPool": oracle.global_max_pool}


@case("AveragePool", "MaxPool", "LpPool")
def pool(spec):
    x, how = spec.data((2, 2, 6, 5), "T"), dict(kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    for name, value in (("ceil_mode", 1), ("count_include_pad", 1), ("dilations", [1, 2]), ("storage_order", 1)):
        if spec.has(name):
            how[name] = value
    if spec.op == "LpPool":
        how["p"] = 3
    due = POOLS[spec.op](x, **how)
    if spec.op != "MaxPool":
        return Case([x], [due], **how)
    y, indices = due
    return Case([x], [y, indices] if len(spec.schema.outputs) > 1 else [y], exact=True, **how)


@case("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def whole(spec):
    x = spec.data((2, 3, 4, 5), "T")
    if spec.op == "GlobalLpPool":
        return Case([x], [oracle.global_lp_pool(x, p=3)], p=3)
    return Case([x], [GLOBAL[spec.op](x)], exact=spec.op == "GlobalMaxPool")


@case("MaxRoiPool")
def max_roi_pool(spec):
    x, how = spec.data((2, 2, 6, 5), "T"), dict(pooled_shape=[2, 3], spatial_scale=0.5)
    rois = np.array([[0, 0, 1, 7, 9], [1, 2, 2, 3, 4], [1, -4, 6, 20, 5]], spec.dtype("T"))
    return Case([x, rois], [oracle.max_roi_pool(x, rois, **how)], exact=True, **how)


@case("RoiAlign")
def roi_align(spec):
    x, batch = spec.data((2, 2, 6, 5), "T1"), np.array([1, 0, 1])
    rois = np.array([[0, 1, 7, 9], [2, 2, 3.5, 4], [-1, 6, 20, 5]], spec.dtype("T1"))
    how = dict(output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.5)
    shift = {"coordinate_transformation_mode": "half_pixel" if spec.version > 10 else "output_half_pixel"}
    due = oracle.roi_align(x, rois, batch, **how, **shift)
    return Case([x, rois, batch], [due], terms=8.0, **how, **(shift if spec.version > 10 else {}))


@case("MaxUnpool")
def max_unpool(spec):
    x, indices = spec.data((1, 2, 2, 2), "T1"), np.array([5, 3, 10, 8, 16, 20, 31, 27]).reshape(1, 2, 2, 2)
    how, shape = dict(kernel_shape=[2, 2], strides=[2, 2]), np.array([1, 2, 5, 6])
    return Case([x, indices, shape], [oracle.max_unpool(x, indices, shape, **how)], exact=True, **how)
