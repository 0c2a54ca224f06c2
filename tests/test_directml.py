"""DirectML's pooling descriptors: results against the formulas of the reference pages, and every rule by the field it names."""
import itertools

import numpy as np
import pytest

from interp import directml as dml
from interp.errors import InterpError

WINDOWED = {"DimensionCount": 2, "Strides": (2, 1), "WindowSize": (3, 2), "StartPadding": (1, 0), "EndPadding": (0, 1)}
POOLED = [dml.DML_AVERAGE_POOLING_OPERATOR_DESC, dml.DML_AVERAGE_POOLING1_OPERATOR_DESC, dml.DML_LP_POOLING_OPERATOR_DESC,
          dml.DML_LP_POOLING1_OPERATOR_DESC, dml.DML_MAX_POOLING_OPERATOR_DESC, dml.DML_MAX_POOLING1_OPERATOR_DESC,
          dml.DML_MAX_POOLING2_OPERATOR_DESC]
OWN = {"IncludePadding": True, "Dilations": (1, 2), "P": 2, "OutputIndicesTensor": None}
TOLERANCE = {"float32": 1e-5, "float16": 1e-2}


def data(*shape, dtype="float32"):
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)


def descriptor(kind, x, **given):
    """One with the right OutputTensor, unless another is given."""
    fields = WINDOWED | {k: v for k, v in OWN.items() if k in kind.__dataclass_fields__} | given
    if "OutputTensor" not in fields:
        fields["OutputTensor"] = dml.DML_TENSOR_DESC(x.dtype.name, sizes(x.shape, fields))
    return kind(InputTensor=x, **fields)


def sizes(shape, fields):
    dilations = fields.get("Dilations", (1,) * fields["DimensionCount"])
    axes = zip(shape[2:], fields["WindowSize"], dilations, fields["StartPadding"], fields["EndPadding"], fields["Strides"],
               strict=True)
    return (*shape[:2], *((n + a + b - ((w - 1) * d + 1)) // s + 1 for n, w, d, a, b, s in axes))


def windows(desc):
    """Every window: its place in the output, its values in float64, their flat indices, how many elements it has with padding."""
    x, n = desc.InputTensor, desc.DimensionCount
    dilations = getattr(desc, "Dilations", (1,) * n)
    flat = np.arange(x.size).reshape(x.shape)
    shape = sizes(x.shape, {f: getattr(desc, f) for f in desc.__dataclass_fields__})
    for place in itertools.product(*map(range, shape)):
        axes = [[o * s - a + k * d for k in range(w)] for o, s, a, w, d in zip(
            place[2:], desc.Strides, desc.StartPadding, desc.WindowSize, dilations, strict=True)]
        inside = [[i for i in axis if 0 <= i < size] for axis, size in zip(axes, x.shape[2:], strict=True)]
        seen = np.ix_(*inside)
        yield place, x[place[:2]][seen].astype(float).ravel(), flat[place[:2]][seen].ravel(), int(np.prod(desc.WindowSize))


def check(desc, formula):
    out = dml.execute(desc)
    out = out[0] if isinstance(out, tuple) else out
    assert out.dtype == desc.InputTensor.dtype
    for place, values, _, count in windows(desc):
        assert out[place] == pytest.approx(formula(values, count), rel=TOLERANCE[out.dtype.name], abs=TOLERANCE[out.dtype.name])


@pytest.fixture(params=["float32", "float16"])
def x(request):
    return data(2, 3, 7, 6, dtype=request.param)


@pytest.mark.parametrize("kind", POOLED[:2])
def test_the_mean_with_and_without_padding(kind, x):
    check(descriptor(kind, x, IncludePadding=True), lambda values, count: values.sum() / count)
    check(descriptor(kind, x, IncludePadding=False), lambda values, count: values.mean())


@pytest.mark.parametrize("kind", POOLED[2:4])
@pytest.mark.parametrize("p", [1, 2, 3, 5])
def test_the_norm(kind, x, p):
    check(descriptor(kind, x, P=p), lambda values, count: (np.abs(values) ** p).sum() ** (1 / p))


@pytest.mark.parametrize("kind", POOLED[4:])
def test_the_maximum(kind, x):
    check(descriptor(kind, x), lambda values, count: values.max())


@pytest.mark.parametrize("kind", POOLED)
def test_three_spatial_dimensions(kind):
    fields = {"DimensionCount": 3, "Strides": (1, 2, 1), "WindowSize": (2, 2, 3), "StartPadding": (0, 1, 1),
              "EndPadding": (1, 0, 2)}
    dilated = {"Dilations": (1, 1, 2)} if "Dilations" in kind.__dataclass_fields__ else {}
    formula = {"A": lambda v, n: v.sum() / n, "L": lambda v, n: (v**2).sum() ** 0.5, "M": lambda v, n: v.max()}
    check(descriptor(kind, data(1, 2, 4, 5, 6), **fields, **dilated), formula[kind.__name__[4]])


@pytest.mark.parametrize("kind", POOLED[5:])
@pytest.mark.parametrize("dtype", ["UINT32", "UINT64", "INT64"])
def test_indices_count_over_the_contiguous_input(kind, dtype, x):
    x = x[:, :, ::-1].transpose(0, 1, 3, 2)  # any strides will do
    shape = sizes(x.shape, WINDOWED | OWN | ({} if kind is POOLED[6] else {"Dilations": (1, 1)}))
    desc = descriptor(kind, x, OutputTensor=np.empty(shape, x.dtype), OutputIndicesTensor=dml.DML_TENSOR_DESC(dtype, shape))
    out, indices = dml.execute(desc)
    assert out is desc.OutputTensor and indices.dtype == dtype.lower()
    for place, values, at, _ in windows(desc):
        assert indices[place] == at[values.argmax()] and out[place] == values.max()


def test_outputs_of_any_strides_are_filled():
    x = data(1, 2, 7, 6)
    shape = sizes(x.shape, WINDOWED)
    out = np.zeros((*shape[:3], 2 * shape[3]), np.float32)[..., ::2]
    assert dml.execute(descriptor(dml.DML_MAX_POOLING_OPERATOR_DESC, x, OutputTensor=out)) is out
    np.testing.assert_array_equal(out, dml.execute(descriptor(dml.DML_MAX_POOLING_OPERATOR_DESC, x)))


def test_an_output_may_overlap_the_input():
    x = data(1, 1, 4, 4)
    fields = {"Strides": (1, 1), "WindowSize": (3, 3), "StartPadding": (1, 1), "EndPadding": (1, 1)}
    expected = dml.execute(descriptor(dml.DML_MAX_POOLING_OPERATOR_DESC, x, **fields))
    out = dml.execute(descriptor(dml.DML_MAX_POOLING_OPERATOR_DESC, x, OutputTensor=x, **fields))
    np.testing.assert_array_equal(out, expected)


def region(x, rois, size, scale=0.5, **given):
    rois = np.asarray(rois, x.dtype).reshape(1, 1, -1, 5)
    out = dml.DML_TENSOR_DESC(x.dtype.name, (rois.shape[2], x.shape[1], *size))
    fields = {"InputTensor": x, "ROITensor": rois, "OutputTensor": out, "SpatialScale": scale, "PooledSize": size} | given
    return dml.DML_ROI_POOLING_OPERATOR_DESC(**fields)


def test_regions(x):
    rois = [[0, 2, 2, 8, 10], [1, 0, 0, 3, 3], [1, 6, 6, 40, 40]]
    out = dml.execute(region(x, rois, (2, 3)))
    for r, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = (int(np.floor(c * 0.5 + 0.5)) for c in corners)
        width, height = x2 - x1 + 1, y2 - y1 + 1
        for i, j in np.ndindex(2, 3):
            rows = slice(min(y1 + i * height // 2, 7), min(y1 - (-(i + 1) * height // 2), 7))
            columns = slice(min(x1 + j * width // 3, 6), min(x1 - (-(j + 1) * width // 3), 6))
            seen = x[image, :, rows, columns]
            np.testing.assert_array_equal(out[r, :, i, j], seen.max((1, 2)) if seen.size else 0)


def test_the_pooled_size_is_a_struct_or_height_and_width():
    x, rois = data(1, 2, 6, 6), [[0, 0, 0, 11, 11]]
    struct = region(x, rois, (2, 3), PooledSize=dml.DML_SIZE_2D(Width=3, Height=2))
    np.testing.assert_array_equal(dml.execute(struct), dml.execute(region(x, rois, (2, 3))))


RULES = {
    "InputTensor": [[1.0, 2.0], np.ones((2, 3, 7, 6)), np.ones((2, 3, 7, 6), np.int32), data(2, 3, 7), data(2, 3, 7, 6, 5)],
    "OutputTensor": [None, np.empty((2, 3, 3, 5)), np.empty((2, 3, 3), np.float32), dml.DML_TENSOR_DESC("FLOAT16", (2, 3, 3, 5)),
                     dml.DML_TENSOR_DESC("COLOUR", (2, 3, 3, 5)), dml.DML_TENSOR_DESC("FLOAT32", (2, 3, 4, 5)),
                     dml.DML_TENSOR_DESC("FLOAT32", (2, 1, 3, 5))],
    "DimensionCount": [1, 4, 2.0],
    "Strides": [(0, 1), (1,), 2, (1, 2**40)],
    "WindowSize": [(3, 0), (3, 99), (3, 2, 1)],
    "StartPadding": [(-1, 0), (0.5, 0)],
    "EndPadding": [(0, -1), None],
}


@pytest.mark.parametrize("kind", POOLED)
@pytest.mark.parametrize("field, value", [(field, value) for field, values in RULES.items() for value in values])
def test_every_rule_names_its_field(kind, field, value):
    own = {k: v for k, v in OWN.items() if k in kind.__dataclass_fields__}
    right = {"InputTensor": data(2, 3, 7, 6), "OutputTensor": dml.DML_TENSOR_DESC("FLOAT32", (2, 3, 3, 5))}
    with pytest.raises(InterpError, match=f"^{field}"):
        dml.execute(kind(**(WINDOWED | own | right | {field: value})))


@pytest.mark.parametrize("kind, field, value", [
    (POOLED[0], "IncludePadding", "yes"), (POOLED[1], "IncludePadding", None), (POOLED[2], "P", 0), (POOLED[3], "P", 1.5),
    (POOLED[1], "Dilations", (0, 1)), (POOLED[3], "Dilations", (1,)), (POOLED[6], "Dilations", (-1, 1)),
    (POOLED[5], "OutputIndicesTensor", np.empty((2, 3, 4, 6), np.int32)),
    (POOLED[6], "OutputIndicesTensor", dml.DML_TENSOR_DESC("UINT64", (2, 3, 4, 4))),
])
def test_rules_of_some_descriptors(kind, field, value):
    shape = (2, 3, 3, 5) if kind is POOLED[6] else (2, 3, 3, 6)
    with pytest.raises(InterpError, match=f"^{field}"):
        dml.execute(descriptor(kind, data(2, 3, 7, 6), OutputTensor=dml.DML_TENSOR_DESC("FLOAT32", shape), **{field: value}))


@pytest.mark.parametrize("field, value", [
    ("InputTensor", data(1, 2, 3, 4, 5)),
    ("ROITensor", data(1, 5)), ("ROITensor", data(1, 2, 1, 5)), ("ROITensor", data(1, 1, 1, 4)),
    ("ROITensor", data(1, 1, 1, 5, dtype="float16")), ("ROITensor", np.full((1, 1, 1, 5), 3, np.float32)),
    ("SpatialScale", "half"), ("SpatialScale", None), ("PooledSize", (0, 1)), ("PooledSize", (1,)), ("PooledSize", 7),
    ("OutputTensor", dml.DML_TENSOR_DESC("FLOAT32", (1, 2, 2, 3))),
])
def test_rules_of_regions(field, value):
    with pytest.raises(InterpError, match=f"^{field}"):
        dml.execute(region(data(1, 2, 6, 6), [[0, 0, 0, 5, 5]], (2, 2), **{field: value}))


def test_a_size_that_differs_is_told_with_its_dimension():
    desc = descriptor(POOLED[4], data(2, 3, 7, 6), OutputTensor=dml.DML_TENSOR_DESC("FLOAT32", (2, 3, 4, 5)))
    with pytest.raises(dml.DescriptorError, match="OutputTensor: dimension 2 is 4; expected 3"):
        dml.execute(desc)


def test_other_objects_are_no_descriptors():
    with pytest.raises(InterpError, match="int"):
        dml.execute(3)
