"""The oracle itself, against the official node tests and, where onnxruntime follows the text, against onnxruntime."""

import importlib.util
import itertools

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.test.case.node as node_tests
import pytest

from tests import oracle
from tests.every import Case, one_node
from tests.oracle.rounding import rounded
from tests.tolerance import assert_close, size_of_terms
from tests.windows import KERNELS, SHAPES, STRIDES, WIDE, expected, settings, tensor

FUNCTIONS = {
    "AveragePool": oracle.average_pool,
    "GlobalAveragePool": oracle.global_average_pool,
    "GlobalLpPool": oracle.global_lp_pool,
    "GlobalMaxPool": oracle.global_max_pool,
    "LpPool": oracle.lp_pool,
    "MaxPool": oracle.max_pool,
    "MaxRoiPool": oracle.max_roi_pool,
    "MaxUnpool": oracle.max_unpool,
    "RoiAlign": oracle.roi_align,
}


def official():
    """The node tests of the family; a module of them makes its tests when it is imported, and none other is."""
    for op in FUNCTIONS:
        if importlib.util.find_spec(f"{node_tests.__name__}.{op.lower()}"):
            importlib.import_module(f"{node_tests.__name__}.{op.lower()}")
    return [case for case in node_tests._NodeTestCases if {n.op_type for n in case.model.graph.node} <= set(FUNCTIONS)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in official()])
def test_official_node_tests(case):
    (node,) = case.model.graph.node
    attributes = {a.name: plain(onnx.helper.get_attribute_value(a)) for a in node.attribute}
    for inputs, outputs in case.data_sets:
        got = FUNCTIONS[node.op_type](*inputs, **attributes)
        got = got if isinstance(got, tuple) else (got,)
        for actual, right in zip(got, outputs, strict=False):
            assert (actual.shape, actual.dtype) == (right.shape, right.dtype)
            # RoiAlign's expected values are printed with four digits.
            np.testing.assert_allclose(actual, right, 1e-3, 1e-4 if node.op_type == "RoiAlign" else 1e-7)


def plain(value):
    return value.decode() if isinstance(value, bytes) else value


OLDEST_AND_NEWEST = {"AveragePool": (7, 22), "LpPool": (2, 22), "MaxPool": (8, 22)}
RUN_BY_ONNXRUNTIME = [Case(op, version, "float") for op, versions in OLDEST_AND_NEWEST.items() for version in versions]


def runs_in_onnxruntime(spatial, attributes):
    """Where onnxruntime has a kernel and follows the text.

    It refuses paddings that reach over the kernel, and strides over it with SAME; it forgets dilations with SAME, and
    with VALID it follows ceil_mode.
    """
    same = attributes.get("auto_pad", "").startswith("SAME")
    wider = any(s > k for s, k in zip(STRIDES[spatial], KERNELS[spatial], strict=True))
    return not (
        attributes.get("pads") == WIDE[spatial]
        or (same and ("dilations" in attributes or ("strides" in attributes and wider)))
        or (attributes.get("auto_pad") == "VALID" and attributes.get("ceil_mode"))
    )


@pytest.mark.parametrize("case", RUN_BY_ONNXRUNTIME, ids=str)
def test_windows_against_onnxruntime(case):
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    for spatial in (1, 2, 3):
        for i, attributes in enumerate(settings(case, spatial)):
            if not runs_in_onnxruntime(spatial, attributes):
                continue
            x = tensor(case, SHAPES[spatial], i)
            wanted = expected(case, x, attributes)
            model = one_node(case.op, case.version, {"X": x}, attributes, ["Y", "Indices"][: len(wanted)])
            got = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"X": x})
            for actual, right in zip(got, wanted, strict=True):
                assert_close(actual, right, None if case.op == "MaxPool" else size_of_terms(x, wanted[0]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_rounding_happens_once(dtype):
    """Ties between neighbours near 1, and what lies just beside them: the nearest, of two the even one."""
    step = float(np.spacing(np.ones(1, dtype))[0])
    for sign, n, beside in itertools.product((1, -1), range(8), (-(2.0**-40), 0, 2.0**-40)):
        nearest = n if beside < 0 else n + 1 if beside > 0 else n + n % 2
        assert float(rounded(sign * (1 + (n + 0.5) * step + beside), dtype)) == sign * (1 + nearest * step)
    assert float(rounded(1e300, dtype)) == np.inf and np.isnan(float(rounded(np.nan, dtype)))
