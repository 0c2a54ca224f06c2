"""AveragePool, MaxPool, LpPool and their global forms against the float64 oracle: every version, type and attribute."""

import numpy as np
import pytest

import interp
from tests import oracle
from tests.every import Case, every, one_node, run_node
from tests.tolerance import assert_close, size_of_terms
from tests.unbound import unbound
from tests.windows import SHAPES, WINDOWED, check, expected, settings, tensor

GLOBAL = ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
FAMILY = (*WINDOWED, *GLOBAL, "MaxRoiPool", "RoiAlign", "MaxUnpool")
CASES = [case for op in WINDOWED for case in every(op)]
NEWEST = [case for op in WINDOWED for case in every(op) if case.values[0].version == 22]
FLOATS = [case for case in NEWEST if case.values[0].dtype.kind not in "iu"]
MAXIMA = [case for case in every("MaxPool") if case.values[0].version == 22]


def test_the_family_has_109_versions_and_types():
    assert sum(len(every(op)) for op in FAMILY) == 109


@pytest.mark.parametrize("case", CASES)
def test_every_combination_of_attributes(case):
    """Each once, on one to four spatial axes in a turn that no attribute keeps step with."""
    for i in range(sum(1 for _ in settings(case, 1))):
        spatial = 1 + (i + i // 4 + i // 16 + i // 64) % 4
        check(case, tensor(case, SHAPES[spatial], i), list(settings(case, spatial))[i])


@pytest.mark.slow
@pytest.mark.parametrize("spatial", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_every_combination_of_attributes_on_every_number_of_axes(case, spatial):
    for i, attributes in enumerate(settings(case, spatial)):
        check(case, tensor(case, SHAPES[spatial], i), attributes)


@pytest.mark.parametrize("case", NEWEST)
def test_more_than_four_spatial_axes(case):
    check(
        case,
        tensor(case, (1, 2, 3, 2, 3, 2, 3)),
        {"kernel_shape": [2, 1, 2, 2, 2], "pads": [0, 0, 1, 0, 0, 0, 0, 0, 0, 1]},
    )


@pytest.mark.parametrize("case", NEWEST)
@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 17, 31, 67, 131])
def test_rows_of_every_length(case, width):
    """The lengths at which vector loops begin, end and leave a rest."""
    x = tensor(case, (1, 3, 5, width))
    check(case, x, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
    check(case, x, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]})
    check(case, x, {"kernel_shape": [2, 1], "strides": [2, 3], "dilations": [2, 1]})


@pytest.mark.parametrize("case", NEWEST)
def test_any_number_of_threads_gives_the_same_bits(case):
    x = tensor(case, (2, 17, 23, 21))
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 1]}
    one, two = (run_node(case.op, case.version, {"X": x}, attributes, threads=n)[0] for n in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("case", NEWEST)
def test_one_session_pools_inputs_of_any_size_and_any_layout(case):
    """Sizes are names until a run; called node by node, it means the same."""
    attributes = {"kernel_shape": [3, 2], "pads": [0, 1, 1, 0], "strides": [2, 1], "ceil_mode": 1}
    names = ["Y", "Indices"] if case.op == "MaxPool" else ["Y"]
    model = one_node(case.op, 22, {"X": tensor(case, (1, 1, 4, 4))}, attributes, names)
    for size, name in zip(model.graph.input[0].type.tensor_type.shape.dim, "NCHW", strict=True):
        size.dim_param = name
    session = interp.load(model, threads=1)
    for shape in [(1, 1, 7, 6), (2, 3, 9, 31), (0, 2, 8, 8), (2, 1, 3, 2), (1, 1, 7, 6)]:
        x = tensor(case, (*shape[:3], 2 * shape[3]))[..., ::2]
        for got, twin, wanted in zip(
            session.run(None, {"X": x}), unbound(session, {"X": x}), expected(case, x, attributes), strict=True
        ):
            assert_close(got, wanted, None if case.op == "MaxPool" else size_of_terms(x, wanted))
            assert twin.tobytes() == got.tobytes()
    for height in (0, 1):
        with pytest.raises(interp.InterpError, match=f"{case.op}-22"):
            session.run(None, {"X": tensor(case, (1, 1, height, 4))})


@pytest.mark.parametrize("case", NEWEST)
@pytest.mark.parametrize("shape", [(0, 3, 5, 4), (2, 0, 5, 4)])
def test_no_batch_or_no_channels_is_an_empty_result(case, shape):
    check(case, tensor(case, shape), {"kernel_shape": [2, 2], "strides": [2, 2]})


@pytest.mark.parametrize("case", NEWEST)
def test_an_empty_axis_is_all_padding(case):
    check(case, tensor(case, (1, 2, 0, 3)), {"kernel_shape": [2, 1], "pads": [1, 0, 1, 0]})


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 6]},
        {"kernel_shape": [3, 8], "pads": [0, 1, 0, 1]},
        {"kernel_shape": [6, 1], "auto_pad": "VALID"},
    ],
)
def test_a_kernel_larger_than_the_padded_input_is_an_error(case, attributes):
    with pytest.raises(interp.InterpError):
        run_node(case.op, case.version, {"X": tensor(case, (1, 1, 5, 5))}, attributes)


@pytest.mark.parametrize("case", NEWEST)
def test_dilation_can_make_a_kernel_too_large_and_ceil_mode_does_not_make_it_fit(case):
    attributes = {"kernel_shape": [2, 2], "dilations": [1, 5], "strides": [3, 3], "ceil_mode": 1}
    with pytest.raises(interp.InterpError):
        run_node(case.op, case.version, {"X": tensor(case, (1, 1, 5, 5))}, attributes)


@pytest.mark.parametrize("case", [case for case in every("AveragePool") if case.values[0].has("ceil_mode")])
def test_the_divisor_counts_padding_and_not_what_ceil_mode_adds(case):
    x = np.array([[[1, 2, 3, 4, 5]]], case.dtype)
    attributes = {"kernel_shape": [4], "strides": [3], "pads": [1, 1], "ceil_mode": 1, "count_include_pad": 1}
    (y,) = run_node("AveragePool", case.version, {"X": x}, attributes)
    assert y.tolist() == [[[(0 + 1 + 2 + 3) / 4, (3 + 4 + 5 + 0) / 4]]]
    (y,) = run_node("AveragePool", case.version, {"X": x}, {**attributes, "pads": [0, 1], "strides": [4]})
    assert y.tolist() == [[[(1 + 2 + 3 + 4) / 4, (5 + 0) / 2]]]


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0].has("ceil_mode")])
def test_windows_that_start_in_the_padding_after_the_end_are_dropped_by_ceil_mode(case):
    x = np.ones((1, 1, 3), case.dtype)
    (y,) = run_node(case.op, case.version, {"X": x}, {"kernel_shape": [1], "strides": [1], "pads": [0, 4], "ceil_mode": 1})
    assert y.tolist() == [[[1, 1, 1]]]
    (y,) = run_node(case.op, case.version, {"X": x}, {"kernel_shape": [2], "strides": [3], "pads": [0, 2], "ceil_mode": 1})
    assert y.shape == (1, 1, 1)


@pytest.mark.parametrize("case", NEWEST)
def test_a_window_wholly_in_padding(case):
    """The lowest value at −1; the mean of nothing; the norm of nothing."""
    x = np.ones((1, 1, 1), case.dtype)
    feeds, attributes = {"X": x}, {"kernel_shape": [1], "pads": [1, 1]}
    y, *indices = run_node(case.op, 22, feeds, attributes, ["Y", "Indices"] if case.op == "MaxPool" else ["Y"])
    nothing = {"AveragePool": np.nan, "LpPool": 0, "MaxPool": oracle.pooling.lowest(case.dtype)}[case.op]
    assert_close(y, np.array([[[nothing, 1, nothing]]], case.dtype))
    if case.op == "MaxPool":
        assert indices[0].tolist() == [[[-1, 0, -1]]]
    if case.op == "AveragePool":
        (y,) = run_node(case.op, 22, feeds, {**attributes, "count_include_pad": 1})
        assert y.tolist() == [[[0, 1, 0]]]


@pytest.mark.parametrize("case", MAXIMA)
def test_the_first_of_equals(case):
    x = np.full((2, 2, 3, 4), 5, case.dtype)
    _, indices = run_node("MaxPool", 22, {"X": x}, {"kernel_shape": [2, 2], "strides": [1, 2]}, ["Y", "Indices"])
    assert indices.ravel().tolist() == [12 * plane + place for plane in range(4) for place in (0, 2, 4, 6)]


@pytest.mark.parametrize("case", MAXIMA)
def test_column_major_indices_run_fastest_along_the_first_axis_and_choose_the_same_elements(case):
    x = np.full((1, 2, 3, 4), 5, case.dtype)
    x[0, 1, 2, 3] = 6
    attributes = {"kernel_shape": [3, 4], "storage_order": 1}
    assert run_node("MaxPool", 22, {"X": x}, attributes, ["Y", "Indices"])[1].ravel().tolist() == [0, 12 + 2 + 3 * 3]
    attributes = {"kernel_shape": [2, 2], "storage_order": 1, "strides": [1, 2]}
    _, indices = run_node("MaxPool", 22, {"X": x[:, :1]}, attributes, ["Y", "Indices"])
    assert indices.ravel().tolist() == [0, 6, 1, 7]


@pytest.mark.parametrize("case", [case for case in MAXIMA if case in FLOATS])
@pytest.mark.parametrize("kernel", [[2, 2], [3, 3], [1, 17], [2, 3], [5, 20]])
def test_not_a_number_wins_from_the_first_on(case, kernel):
    x = np.zeros((1, 2, 5, 20), case.dtype)
    x[0, 0, 1, 3] = x[0, 0, 3, 11] = x[0, 1, 4, 19] = np.nan
    x[0, 1, 2, 2] = np.inf
    check(case, x, {"kernel_shape": kernel})
    check(case, x, {"kernel_shape": kernel, "strides": [2, 2], "pads": [0, 0, 0, 1]})


@pytest.mark.parametrize("case", [case for case in MAXIMA if case in FLOATS])
@pytest.mark.parametrize("value", [-np.inf, np.nan])
def test_windows_of_nothing_but_minus_infinity_or_nan_have_a_place(case, value):
    x = np.full((2, 1, 4, 19), value, case.dtype)
    for spread in ({}, {"strides": [2, 2]}, {"dilations": [2, 3]}):
        check(case, x, {"kernel_shape": [2, 3], "pads": [1, 2, 1, 1], **spread})
    assert_close(run_node("MaxPool", 22, {"X": x}, {"kernel_shape": [2, 2]})[0], x[:, :, 1:, 1:])


@pytest.mark.parametrize("case", [case for case in FLOATS if case.values[0].op != "MaxPool"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_sums_and_norms_carry_what_is_not_finite(case, value):
    x = tensor(case, (1, 2, 6, 21))
    x[0, 0, 2, 4] = x[0, 1, 5, 20] = value
    x[0, 0, 3, 12] = np.inf
    check(case, x, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})
    check(case, x, {"kernel_shape": [2, 2], "strides": [2, 2]})


@pytest.mark.parametrize("case", [case for case in CASES if case.values[0].op != "MaxPool" and case.id.endswith("16")])
def test_sixteen_bits_do_not_overflow_on_the_way(case):
    x = np.full((1, 1, 4, 4), 3e4, case.dtype)
    check(case, x, {"kernel_shape": [2, 2]})
    check(case, x * case.dtype.type(0.01), {"kernel_shape": [4, 4]})


@pytest.mark.parametrize("case", [case for case in NEWEST if "AveragePool" in str(case) and case.id.endswith("16")])
def test_sixteen_bits_do_not_lose_small_terms_on_the_way(case):
    """64 × 64 ones: a sum in the type itself stops at 2,048 (or 256)."""
    (y,) = run_node("AveragePool", 22, {"X": np.ones((1, 1, 64, 64), case.dtype)}, {"kernel_shape": [64, 64]})
    assert y.item() == 1


@pytest.mark.parametrize("case", [case for case in every("LpPool") if case.values[0].version in (1, 2)])
def test_norms_take_absolute_values(case):
    x = np.array([[[-3, 4, -12, 84]]], case.dtype)
    power = float if case.version == 1 else int
    sums = {1: [7, 16, 96], 2: [25, 160, 7200], 3: [91, 1792, 594432]}
    for p in sums:
        (y,) = run_node("LpPool", case.version, {"X": x}, {"kernel_shape": [2], "p": power(p)})
        assert_close(y, (np.array([[sums[p]]]) ** (1 / p)).astype(case.dtype), 100)
    (y,) = run_node("LpPool", case.version, {"X": x}, {"kernel_shape": [2]})
    assert_close(y[..., :1], np.array([[[5]]], case.dtype), 100)


@pytest.mark.parametrize("case", [case for op in GLOBAL for case in every(op)])
@pytest.mark.parametrize(
    "shape", [(2, 3, 7), (2, 3, 7, 5), (1, 2, 3, 4, 5), (1, 2, 3, 2, 3, 2), (3, 33, 29, 31), (0, 3, 2, 2), (1, 1, 1, 1)]
)
def test_global_pools(case, shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(case.dtype)
    check_global(case, x, {})
    for p in (1, 3, 5) if case.has("p") else ():
        check_global(case, x, {"p": float(p) if case.version == 1 else p})
    if case.op == "GlobalLpPool" and case.version == 1:
        check_global(case, x, {"p": 1.5})


@pytest.mark.parametrize("case", [case for op in GLOBAL for case in every(op)])
def test_global_pools_of_what_is_not_finite(case):
    x = np.zeros((1, 6, 5, 7), case.dtype)
    x[0, 0, 2, 3] = x[0, 1, 4, 6] = np.nan
    x[0, 1, 0, 0] = x[0, 2, 1, 1] = np.inf
    x[0, 3] = x[0, 4, 1:] = -np.inf
    check_global(case, x, {})


@pytest.mark.parametrize("case", [case for op in GLOBAL for case in every(op)])
def test_a_plane_without_elements_gives_what_a_window_without_elements_gives(case):
    check_global(case, np.zeros((2, 3, 0, 4), case.dtype), {})


def check_global(case: Case, x, attributes):
    functions = dict(zip(GLOBAL, (oracle.global_average_pool, oracle.global_max_pool, oracle.global_lp_pool), strict=True))
    wanted = functions[case.op](x, **attributes)
    (got,) = run_node(case.op, case.version, {"X": x}, attributes)
    assert_close(got, wanted, None if case.op == "GlobalMaxPool" else size_of_terms(x, wanted))
