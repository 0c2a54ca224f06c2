"""Resize and Upsample: every mode, transform and policy against sums found one by one; borders, infinities, errors, sizes."""
import itertools
import zlib
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import parser

import interp
from interp.dims import Fact, named
from interp.ops import resize as ops

from .every import one_node, run_node
from .oracle.resize import resize as exact
from .tolerance import assert_close, size_of_terms

TRANSFORMS = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
F = np.float32


def drawn(shape, dtype=F):
    random = np.random.default_rng(zlib.crc32(str(shape).encode()))
    if np.dtype(dtype).kind in "iu":
        return random.integers(0, 100, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def resized(x, roi=None, scales=None, sizes=None, opset=19, threads=1, **attributes):
    feeds = {"X": x, "roi": roi, "scales": scales, "sizes": sizes}
    for name, kind in (("roi", F), ("scales", F), ("sizes", np.int64)):
        feeds[name] = None if feeds[name] is None else np.asarray(feeds[name], kind)
    return run_node("Resize", opset, feeds, attributes, threads=threads)[0]


def check(x, roi=None, scales=None, sizes=None, opset=19, threads=1, **attributes):
    plain = None if scales is None else [Fraction(s).limit_denominator(1000) for s in scales]
    roi = None if roi is None else np.asarray(roi, F)
    due = exact(x, roi, plain, sizes, **attributes)
    got = resized(x, roi, scales, sizes, opset, threads, **attributes)
    if x.dtype.kind in "iu":
        least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        assert got.shape == due.shape and np.all(np.abs(got - np.clip(due, least, most)) <= 0.5 + 1e-4)
        return
    chosen = attributes.get("mode", "nearest") == "nearest"
    assert_close(got, due.astype(x.dtype), None if chosen else 4 * size_of_terms(x))


SHAPES = [
    # x, scales, sizes
    ((5,), (1.7,), None), ((5,), (0.6,), None), ((1,), (3,), None), ((7,), None, (1,)), ((7,), None, (3,)),
    ((1, 3, 4, 5), (1, 1, 2, 2), None), ((2, 3, 7, 9), (1, 1, 0.5, 0.34), None), ((2, 3, 4, 5), None, (2, 3, 9, 2)),
    ((2, 5, 6, 3), (1, 1.5, 0.7, 1), None), ((3, 4, 5), None, (2, 7, 3)), ((2, 3, 4, 3, 5), (1, 1, 2, 0.7, 1.3), None),
    ((4, 1, 3), None, (4, 3, 3)),
]


@pytest.mark.parametrize("x, scales, sizes", SHAPES, ids=str)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_every_mode_of_every_transform(x, scales, sizes, transform):
    x = drawn(x)
    roi = [0.1, 0.2, -0.1, 0.3, 0.0][:x.ndim] + [0.8, 0.7, 0.9, 1.2, 0.95][:x.ndim] if transform.startswith("tf") else None
    given = dict(coordinate_transformation_mode=transform, extrapolation_value=7.5)
    for nearest in NEAREST:
        check(x, roi, scales, sizes, nearest_mode=nearest, **given)
    for mode, outside, antialias in itertools.product(["linear", "cubic"], [0, 1], [0, 1]):
        check(x, roi, scales, sizes, mode=mode, exclude_outside=outside, antialias=antialias, cubic_coeff_a=-0.5, **given)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("nearest", NEAREST)
def test_half_pixels_for_nearest_neighbours(opset, nearest):
    """From version 13 on the text lacks tf_half_pixel_for_nn, which converters still write."""
    x, given = drawn((1, 1, 5, 7)), dict(coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode=nearest)
    empty = np.zeros(0, F)
    got = run_node("Resize", opset, {"X": x, "roi": empty, "scales": np.array([1, 1, 2, 0.5], F)}, given)[0]
    np.testing.assert_array_equal(got, exact(x, None, [1, 1, 2, 0.5], **given))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16, np.int8, np.uint8, np.int16, np.uint16, np.int32,
                                   np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_every_type(dtype, mode):
    x = drawn((2, 5, 6, 3), dtype)
    check(x, scales=(1, 1.5, 0.5, 1), mode=mode)
    check(x, sizes=(2, 5, 9, 7), mode=mode)
    check(x, sizes=(2, 5, 2, 2), mode=mode)


def test_whole_numbers_are_rounded_to_even_and_held_to_their_type():
    x = np.array([0, 1, 2, 127, -128], np.int8)
    between = resized(x, sizes=[9], mode="linear", coordinate_transformation_mode="align_corners")
    assert between.tolist() == [0, 0, 1, 2, 2, 64, 127, 0, -128]  # 0.5, 1.5, 64.5 and -0.5 lie between
    cubic = resized(np.array([255, 255, 0, 0], np.uint8), scales=[4], mode="cubic")
    assert cubic.max() == 255 and cubic.min() == 0  # the curve overshoots


def test_truths_text_and_complex_numbers():
    x = np.array([[True, False, True]])
    assert resized(x, sizes=[1, 6]).tolist() == [[True, True, False, False, True, True]]
    assert resized(x, sizes=[1, 5], mode="linear", coordinate_transformation_mode="align_corners").tolist() \
        == [[True, False, False, False, True]]
    z = drawn((2, 4)) + 1j * drawn((2, 4)).astype(np.complex64)
    for mode in ("nearest", "linear", "cubic"):
        due = exact(z.real, scales=[2, 0.5], mode=mode) + 1j * exact(z.imag, scales=[2, 0.5], mode=mode)
        np.testing.assert_allclose(resized(z, scales=[2, 0.5], mode=mode), due, 1e-5, 1e-5)
    words = np.array([["a", "b", "c"]], object)
    assert resized(words, scales=[2, 2]).tolist() == [["a", "a", "b", "b", "c", "c"]] * 2
    with pytest.raises(interp.InterpError, match="strings"):
        resized(words, scales=[2, 2], mode="linear")


@pytest.mark.parametrize("axes", [[2, 3], [3, 2], [-1], [-3, 2], [0]])
def test_axes_name_what_scales_sizes_and_regions_refer_to(axes):
    x = drawn((2, 3, 4, 5))
    n = len(axes)
    for mode in ("nearest", "linear"):
        check(x, scales=[1.5, 0.5][:n], axes=axes, mode=mode)
        check(x, sizes=[7, 2][:n], axes=axes, mode=mode)
        check(x, [0.1, 0.2][:n] + [0.7, 0.9][:n], sizes=[7, 2][:n], axes=axes, mode=mode,
              coordinate_transformation_mode="tf_crop_and_resize")


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller", "stretch"])
@pytest.mark.parametrize("sizes", [(7, 8), (1, 3), (9, 2), (4, 12), (3, 3)])
def test_the_aspect_ratio_is_kept(policy, sizes):
    x = drawn((1, 1, 4, 6))
    for mode in ("nearest", "linear"):
        check(x, sizes=sizes, axes=[2, 3], keep_aspect_ratio_policy=policy, mode=mode)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller", "stretch"])
@pytest.mark.parametrize("axes", [[1, 2], [2, 1], [-1, -3, 1], [2]])
def test_kept_ratios_of_some_axes_in_every_mode_and_transform(axes, policy, transform):
    n = len(axes)
    given = dict(axes=axes, keep_aspect_ratio_policy=policy, coordinate_transformation_mode=transform, extrapolation_value=-3.5)
    roi = [0.1, -0.2, 0.3][:n] + [0.8, 1.1, 0.9][:n] if transform.startswith("tf") else None
    for x, sizes in ((drawn((3, 5, 4)), [7, 3, 4]), (drawn((2, 6, 1)), [4, 9, 5])):
        for nearest in NEAREST:
            check(x, roi, sizes=sizes[:n], nearest_mode=nearest, **given)
        for mode, outside, antialias in itertools.product(["linear", "cubic"], [0, 1], [0, 1]):
            check(x, roi, sizes=sizes[:n], mode=mode, exclude_outside=outside, antialias=antialias, **given)


@pytest.mark.parametrize("transform", ["half_pixel", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("policy", ["not_larger", "not_smaller", "stretch"])
@pytest.mark.parametrize("antialias", [0, 1])
def test_onnxruntime_agrees_on_kept_ratios(antialias, policy, transform):
    """In these transforms; in align_corners it follows the text, not the official test, as to sizes that are cut."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="the engine that is compared with")
    for sizes, mode in itertools.product([(7, 8), (3, 3), (9, 2)], ["linear", "cubic"]):
        feeds = {"X": drawn((1, 2, 4, 6)), "roi": None, "scales": None, "sizes": np.array(sizes)}
        given = dict(axes=[2, 3], keep_aspect_ratio_policy=policy, coordinate_transformation_mode=transform, mode=mode,
                     antialias=antialias)
        content = one_node("Resize", 19, feeds, given).SerializeToString()
        engine = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        [due] = engine.run(None, {"X": feeds["X"], "sizes": feeds["sizes"]})
        np.testing.assert_allclose(resized(feeds["X"], sizes=sizes, **given), due, 1e-4, 1e-5)


def test_halves_of_kept_sizes_are_rounded_up():
    assert resized(drawn((4, 5)), sizes=[2, 9], keep_aspect_ratio_policy="not_larger").shape == (2, 3)  # 2.5
    assert resized(drawn((4, 5)), sizes=[2, 1], keep_aspect_ratio_policy="not_smaller").shape == (2, 3)


@pytest.mark.parametrize("shape, sizes", [
    ((2, 120, 90), (2, 400, 333)), ((40, 64, 50), (40, 21, 77)), ((1, 300, 301), (1, 70, 600)), ((3000, 5), (3000, 12)),
    ((5, 4000), (11, 4000)), ((3, 60, 70), (3, 120, 140))], ids=str)
def test_large_tensors_in_blocks(shape, sizes):
    """More than a block of rows, few planes and many, shrinking and growing; the same whoever does the work."""
    x = drawn(shape)
    for mode, antialias in [("nearest", 0), ("linear", 0), ("linear", 1), ("cubic", 0)]:
        y = resized(x, sizes=sizes, mode=mode, antialias=antialias)
        for threads in (2, 3):
            np.testing.assert_array_equal(resized(x, sizes=sizes, mode=mode, antialias=antialias, threads=threads), y)
        due = exact(x, sizes=sizes, mode=mode, antialias=antialias).astype(F)
        assert_close(y, due, None if mode == "nearest" else 4 * size_of_terms(x))


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_with_the_places_that_it_counts_for(mode, value):
    x = np.arange(6, dtype=F)
    x[3] = value
    y = resized(x, sizes=[11], mode=mode, coordinate_transformation_mode="align_corners")
    whole = y[::2]
    np.testing.assert_array_equal(whole, x)  # a weight of 0 does not count
    reach = slice(5, 8, 2) if mode == "linear" else slice(3, 10, 2)
    assert not np.isfinite(y[reach]).any() and np.isfinite(y[1]) and np.isfinite(y[2])


def test_a_region_of_no_numbers_is_outside():
    x = drawn((4,))
    for roi in ([np.nan, 1], [0, np.inf], [-np.inf, 1]):
        y = resized(x, np.array(roi, F), sizes=[3], mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
                    extrapolation_value=5.0)
        assert y[-1] == 5 or y[0] == 5
        assert np.isin(y, [5, *x]).all()
    y = resized(np.arange(4, dtype=np.uint8), [0, 2], sizes=[4], coordinate_transformation_mode="tf_crop_and_resize",
                extrapolation_value=1e9)
    assert y.tolist() == [0, 2, 255, 255]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 0.6, 0.6), (1, 1, 0.7, 1.3), (1, 1, 2.5, 0.4)])
def test_the_first_version(mode, scales):
    """By onnxruntime, whose versions before 11 are what the text and its tests were written from."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="the engine that is compared with")
    x, scales = drawn((1, 2, 6, 5)), np.array(scales, F)
    model = parser.parse_model(f"""<ir_version: 5, opset_import: ["": 10]>
        m (float[1,2,6,5] x, float[4] s) => (float[a,b,c,d] y) {{ y = Resize <mode = "{mode}"> (x, s) }}""")
    engine = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    [due] = engine.run(None, {"x": x, "s": scales})
    [got] = run_node("Resize", 10, {"X": x, "scales": scales}, {"mode": mode})
    np.testing.assert_allclose(got, due, 1e-5, 1e-5)


def test_upsample():
    x = np.array([[[[1, 2], [3, 4]]]], F)
    twice = [[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]
    between = [[1, 1.5, 2, 2], [2, 2.5, 3, 3], [3, 3.5, 4, 4], [3, 3.5, 4, 4]]  # o / scale, the last one repeated
    for mode, due in [("nearest", twice), ("linear", between)]:
        old = {"mode": "bilinear" if mode == "linear" else mode, "height_scale": 2.0, "width_scale": 2.0}
        assert run_node("Upsample", 1, {"X": x}, old)[0].tolist() == [[due]]
        assert run_node("Upsample", 7, {"X": x}, {"mode": mode, "scales": [1.0, 1.0, 2.0, 2.0]})[0].tolist() == [[due]]
        assert run_node("Upsample", 9, {"X": x, "scales": np.array([1, 1, 2, 2], F)}, {"mode": mode})[0].tolist() == [[due]]
    with pytest.raises(interp.InterpError, match="at least 1"):
        run_node("Upsample", 7, {"X": x}, {"scales": [1.0, 1.0, 0.5, 2.0]})


def test_empty_tensors():
    assert resized(np.zeros((0, 3), F), scales=[2, 2], mode="linear").shape == (0, 6)
    assert resized(np.zeros((2, 3), F), sizes=[2, 0], mode="cubic").shape == (2, 0)
    assert resized(np.zeros((2, 3), F), scales=[1, 0.1]).shape == (2, 0)


@pytest.mark.parametrize("scales", [[0], [-1], [np.nan], [np.inf], [1e30], [2, 2]])
def test_scales_that_make_no_sense(scales):
    with pytest.raises(interp.InterpError):
        resized(drawn((4,)), scales=scales)


@pytest.mark.parametrize("sizes", [[-1], [2**62], [2**40 + 1], [2**31], [2, 2], []])
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(interp.InterpError):
        resized(drawn((4,)), sizes=sizes)


@pytest.mark.parametrize("attributes", [
    {"mode": "area"}, {"nearest_mode": "simple"}, {"coordinate_transformation_mode": "half"},
    {"keep_aspect_ratio_policy": "keep"}, {"axes": [0, 0]}, {"axes": [3]}, {"antialias": 1},
    {"coordinate_transformation_mode": "tf_crop_and_resize"}], ids=str)
def test_what_the_attributes_cannot_be(attributes):
    with pytest.raises(interp.InterpError):
        resized(drawn((4,)), sizes=[8] * len(attributes.get("axes", [0])), **attributes)


def test_nothing_can_be_made_of_an_axis_without_places():
    for mode in ("nearest", "linear"):
        with pytest.raises(interp.InterpError, match="without places"):
            resized(np.zeros((0,), F), sizes=[3], mode=mode)


def test_both_or_neither_of_scales_and_sizes():
    for given in ({}, {"scales": [2], "sizes": [8]}):
        with pytest.raises(interp.InterpError, match="one of scales and sizes"):
            resized(drawn((4,)), **given)


def test_a_scale_is_the_fraction_that_it_stands_for():
    """0.7 as a float32 is a little less: of 10 places it makes 7, as onnx's shape inference and onnxruntime have it."""
    for n, scale, due in [(10, 0.7, 7), (30, 1 / 3, 10), (20, 1.1, 22), (5, 0.6, 3), (1000, 0.333, 333), (7, 0.5, 3)]:
        assert resized(drawn((n,)), scales=[scale]).shape == (due,)
        assert ops.scaled(n, np.float32(scale)) == due


def test_sizes_with_names():
    n, h = named("N"), named("H")
    x = Fact("tensor(float)", (n, 3, h, 8))
    [twice] = ops.resized_shape(x, None, Fact("tensor(float)", (4,), np.array([1, 1, 2, 0.5], F)))
    assert twice == (n, 3, h * 2, 4)
    [half] = ops.resized_shape(x, None, Fact("tensor(float)", (4,), np.array([1, 1, 0.5, 1], F)))
    assert half[2] == h // 2
    asked = Fact("tensor(int64)", (2,), np.array([h * 4, 5], object))
    assert ops.resized_shape(x, None, None, asked, axes=(2, 3)) == [(n, 3, h * 4, 5)]
    [open_] = ops.resized_shape(x, None, None, Fact("tensor(int64)", (2,)), axes=(2, 3))
    assert open_[:2] == (n, 3) and len(open_) == 4


def test_sizes_that_follow_from_a_shape():
    """What exporters write for interpolate(x, size=y.shape[2:])."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 18]>
        m (float[N,C,H,W] x, float[N,C,P,Q] y) => (float[N,C,P,Q] z)
        <int64[2] two = {2, 4}, int64[1] start = {0}, int64[1] end = {2}> {
            s = Shape (y) t = Shape (x) head = Slice (t, start, end) tail = Shape <start = 2> (y)
            size = Concat <axis = 0> (head, tail)
            z = Resize <mode = "linear"> (x, , , size) }""")
    onnx.checker.check_model(model)
    session = interp.load(model)
    for shape, other in [((1, 2, 3, 4), (1, 2, 5, 9)), ((2, 1, 6, 6), (2, 1, 3, 2))]:
        x = drawn(shape)
        [z] = session.run(None, {"x": x, "y": drawn(other)})
        np.testing.assert_allclose(z, exact(x, sizes=other, mode="linear"), 1e-5, 1e-5)
