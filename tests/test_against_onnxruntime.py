"""The cases of every operator on onnxruntime, where it has the kernel: a second opinion on the formulas of tests/standard.

`python -m pytest -m slow tests/test_against_onnxruntime.py` runs the 4,800 or so that it takes.
"""
import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest

import interp

from .standard.case import MAKERS, made, one_node, triples

# Where the two differ, and why the text or the official test is with this package.
DIFFERENT = {
    "Attention": "whole numbers as a mask: neither truths, nor added by onnxruntime",
    "BatchNormalization": "onnxruntime has no training before version 14, and leaves the statistics as they were",
    "Cast": "a float as text has its point; the fnuz and saturation tables of float8",
    "CastLike": "as Cast",
    "CastMap": "a vector, by the text; onnxruntime gives a row",
    "Constant": "a sparse constant is a dense value",
    "Dropout": "the mask of what is kept is true in inference; onnxruntime leaves it false before version 12",
    "Gather": "strings at negative indices, which onnxruntime loses",
    "LabelEncoder": "NaN as a key of version 2 is found",
    "MaxUnpool": "indices count in the inferred tensor, as in the official test",
    "OneHot": "negative indices count from the end from version 11 on only",
    "QLinearConv": "products are exact; onnxruntime's saturate",
    "ReduceL1": "whole numbers are summed as such", "ReduceProd": "whole numbers are multiplied as such",
    "ReduceSum": "sums of whole numbers wrap around", "ReduceSumSquare": "whole numbers are summed as such",
    "Resize": "whole numbers are rounded to the nearest; onnxruntime cuts them off",
    "Sign": "NaN has no sign",
    "StringSplit": "an empty string between delimiters is one part",
    "TreeEnsembleClassifier": "inputs of double are compared as such; NaN takes the branch that the text says",
    "TreeEnsembleRegressor": "inputs of double are compared as such; NaN takes the branch that the text says",
    "Upsample": "whole numbers are rounded to the nearest; onnxruntime cuts them off",
}
OPTIONS = ort.SessionOptions()
OPTIONS.intra_op_num_threads, OPTIONS.log_severity_level = 1, 4


def theirs(node):
    """What onnxruntime gives; None where it has no kernel, or takes no such arrays."""
    model = onnx.ModelProto()
    model.CopyFrom(node.model)
    model.ir_version = min(model.ir_version, 11)
    if any(isinstance(x, np.ndarray) and x.dtype.kind == "V" for x in node.feeds.values()):
        return None
    try:
        return ort.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]).run(None, node.feeds)
    except Exception:  # onnxruntime tells in many ways that it does not serve a type, a version or an attribute
        return None


def alike(a, b):
    """Whether two results are near: onnxruntime's float16 kernels round at every step."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict) or a is None or b is None:
        return a is None or b is None or a == b
    if np.shape(a) != np.shape(b):
        return False
    if a.dtype.kind == "O" or a.dtype.kind in "US":
        return a.astype(str).tolist() == np.asarray(b).astype(str).tolist()
    near = 2e-2 if a.dtype in (np.float16, ml_dtypes.bfloat16) else 1e-4
    wide = complex if a.dtype.kind == "c" else float
    return np.allclose(a.astype(wide), np.asarray(b).astype(wide), near, near, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("domain, name", sorted(MAKERS), ids=lambda x: x)
def test_onnxruntime_agrees_or_is_known_not_to(domain, name):
    differ = []
    for triple in [t for t in triples() if (t.domain, t.op) == (domain, name)]:
        spec, case = made(triple)
        node = one_node(spec, case.inputs, case.expected, case.attributes, case.outer, case.before)
        due = None if case.check else theirs(node)
        if due is not None and not alike(interp.load(node.model, threads=1).run(None, node.feeds), due):
            differ.append(str(triple))
    assert bool(differ) == (name in DIFFERENT), f"{len(differ)} differ: {differ[:5]}"
