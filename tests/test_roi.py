"""MaxRoiPool, RoiAlign and MaxUnpool against the oracle, and where the text is silent against literals."""

import numpy as np
import pytest

import interp
from tests import oracle
from tests.every import every, run_node
from tests.tolerance import assert_close, size_of_terms

REGIONS = every("MaxRoiPool")
ALIGNED = every("RoiAlign")
UNPOOLED = every("MaxUnpool")


def image(case, shape=(2, 3, 11, 9), seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(case.dtype)


def regions(case, count, seed=0, beyond=4.0):
    """Random (x1, y1, x2, y2), some reaching beyond an image of 11 × 9, some with their ends exchanged."""
    random = np.random.default_rng(seed)
    return random.uniform(-beyond, [9 + beyond, 11 + beyond] * 2, (count, 4)).astype(case.dtype)


def max_roi_pool(case, x, rois, **attributes):
    return run_node("MaxRoiPool", case.version, {"X": x, "rois": rois}, attributes)[0]


def roi_align(case, x, rois, batch_indices, **attributes):
    feeds = {"X": x, "rois": rois, "batch_indices": np.asarray(batch_indices, np.int64)}
    return run_node("RoiAlign", case.version, feeds, attributes)[0]


def with_batch(case, rois, batch=0):
    return np.concatenate([np.full((len(rois), 1), batch), np.asarray(rois, np.float64)], 1).astype(case.dtype)


@pytest.mark.parametrize("case", REGIONS)
@pytest.mark.parametrize("pooled_shape", [[1, 1], [2, 3], [7, 7], [16, 5]])
@pytest.mark.parametrize("spatial_scale", [None, 0.5, 0.3, 1.7])
def test_regions_are_pooled(case, pooled_shape, spatial_scale):
    x = image(case)
    corners = np.sort(regions(case, 12).reshape(12, 2, 2), 1).reshape(12, 4)
    corners[:2] = corners[:2, [2, 3, 0, 1]]
    rois = with_batch(case, corners / (spatial_scale or 1))
    rois[::2, 0] = 1
    attributes = {"pooled_shape": pooled_shape, **({"spatial_scale": spatial_scale} if spatial_scale else {})}
    assert_close(max_roi_pool(case, x, rois, **attributes), oracle.max_roi_pool(x, rois, **attributes))


@pytest.mark.parametrize("case", REGIONS)
def test_coordinates_are_rounded_half_away_from_zero(case):
    x = np.arange(8, dtype=case.dtype).reshape(1, 1, 1, 8)
    rois = with_batch(
        case, [[0, 0, c, 0] for c in (0.5, 1.5, 2.5, 3.49)] + [[-0.5, 0, 1, 0], [-2.5, 0, -0.5, 0], [-3, 0, -0.25, 0]]
    )
    y = max_roi_pool(case, x, rois, pooled_shape=[1, 1])
    assert y.ravel().tolist() == [1, 2, 3, 3, 1, 0, 0]


@pytest.mark.parametrize("case", REGIONS)
def test_coordinates_are_calculated_in_the_type_of_the_tensor_and_no_less_than_float32(case):
    """5 · 0.7 with 0.7 as a float32 is 3.49999994: in float32 it is 3.5, and the region one pixel wider."""
    x = np.arange(8, dtype=case.dtype).reshape(1, 1, 1, 8)
    y = max_roi_pool(case, x, with_batch(case, [[0, 0, 5, 0]]), pooled_shape=[1, 1], spatial_scale=0.7)
    assert y.item() == (3 if case.dtype == np.float64 else 4)


@pytest.mark.parametrize("case", REGIONS)
def test_bins_are_calculated_in_the_same_type(case):
    """Every length by every number of bins up to 60: float32 and float64 place some of their edges differently."""
    x = np.arange(60, dtype=case.dtype).reshape(1, 1, 60, 1)
    rois = with_batch(case, [[0, 0, 0, last] for last in range(60)])
    for bins in (3, 7, 11, 23, 41, 47, 49, 55, 59):
        y = max_roi_pool(case, x, rois, pooled_shape=[bins, 1])
        assert_close(y, oracle.max_roi_pool(x, rois, pooled_shape=[bins, 1]))


@pytest.mark.parametrize("case", REGIONS)
def test_an_empty_bin_is_0_whatever_the_data(case):
    for value in (-5, np.nan, -np.inf):
        x = np.full((1, 1, 4, 4), value, case.dtype)
        y = max_roi_pool(case, x, with_batch(case, [[8, 8, 9, 9], [-9, 0, -5, 3]]), pooled_shape=[2, 2])
        assert y.ravel().tolist() == [0] * 8


@pytest.mark.parametrize("case", REGIONS)
def test_regions_carry_what_is_not_finite(case):
    x = np.full((1, 2, 6, 6), -np.inf, case.dtype)
    x[0, 1, 2, 3] = np.nan
    rois = with_batch(case, [[0, 0, 5, 5], [1, 1, 2, 2], [4, 4, 1, 1]])
    assert_close(max_roi_pool(case, x, rois, pooled_shape=[2, 2]), oracle.max_roi_pool(x, rois, pooled_shape=[2, 2]))


@pytest.mark.parametrize("case", REGIONS)
def test_regions_far_beyond_the_image(case):
    """Past what an integer of 32 or 64 bits holds, where the type can say so."""
    far = min(float(np.finfo(np.float32).max) / 8, 1e30) if case.type != "float16" else 6e4
    x = image(case, (1, 2, 5, 5))
    rois = with_batch(case, [[0, 0, far, far], [far, far, far, far], [-far, -far, -far, -far]])
    assert_close(max_roi_pool(case, x, rois, pooled_shape=[2, 2]), oracle.max_roi_pool(x, rois, pooled_shape=[2, 2]))
    everywhere = with_batch(case, [[-far, -far, far, far]])
    assert_close(max_roi_pool(case, x, everywhere, pooled_shape=[1, 1])[0, :, 0, 0], x[0].max((1, 2)))


@pytest.mark.parametrize("case", REGIONS)
@pytest.mark.parametrize("batch", [2, -1, np.nan, np.inf, -np.inf])
def test_a_region_of_no_image_is_an_error(case, batch):
    with pytest.raises(interp.InterpError):
        max_roi_pool(case, image(case), with_batch(case, [[0, 0, 1, 1]], batch), pooled_shape=[1, 1])


@pytest.mark.parametrize("case", [*REGIONS, *ALIGNED])
def test_no_regions_are_an_empty_result(case):
    x = image(case)
    if case.op == "MaxRoiPool":
        y = max_roi_pool(case, x, np.zeros((0, 5), case.dtype), pooled_shape=[2, 3])
    else:
        y = roi_align(case, x, np.zeros((0, 4), case.dtype), [], output_height=2, output_width=3)
    assert (y.shape, y.dtype) == ((0, 3, 2, 3), case.dtype)


def modes(case):
    """The coordinate modes of a version and what each means: version 10 has no shift and no attribute for it."""
    if not case.has("coordinate_transformation_mode"):
        return [({}, {"coordinate_transformation_mode": "output_half_pixel"})]
    named = [{"coordinate_transformation_mode": mode} for mode in ("half_pixel", "output_half_pixel")]
    return [({}, {}), *((mode, mode) for mode in named)]


def check_align(case, x, rois, batch_indices, **attributes):
    for given, understood in modes(case):
        wanted = oracle.roi_align(x, rois, np.array(batch_indices), **attributes, **understood)
        assert_close(roi_align(case, x, rois, batch_indices, **attributes, **given), wanted, 8 * size_of_terms(x))


@pytest.mark.parametrize("case", ALIGNED)
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sampling_ratio", [0, 1, 2, 3])
def test_regions_are_sampled(case, mode, sampling_ratio):
    random = np.random.default_rng(5)
    x, batch_indices = image(case), random.integers(0, 2, 9)
    rois = regions(case, 9, seed=sampling_ratio)
    rois[4:] = np.sort(rois[4:].reshape(5, 2, 2), 1).reshape(5, 4)
    shape = {"output_height": 3, "output_width": 5}
    check_align(case, x, rois, batch_indices, mode=mode, sampling_ratio=sampling_ratio, spatial_scale=0.8, **shape)


@pytest.mark.parametrize("case", ALIGNED)
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_the_defaults_are_one_bin_and_samples_by_size(case, mode):
    check_align(case, image(case), regions(case, 4), [0, 1, 1, 0], mode=mode)


@pytest.mark.parametrize("case", ALIGNED)
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_samples_on_the_rim_and_beyond(case, mode):
    """A sample at −1 or at the size still counts as the border, one beyond is 0; all numbers here are exact."""
    x = (image(case, (1, 2, 4, 4)) * 0 + np.arange(1, 17).reshape(4, 4)).astype(case.dtype)
    rois = np.array(
        [[-2, -2, 2, 2], [-1.5, -1.5, -0.5, -0.5], [3, 3, 5, 5], [2, 2, 6, 6], [-8, 0, -4, 4], [0, 5, 4, 9]], case.dtype
    )
    check_align(case, x, rois, [0] * 6, mode=mode, output_height=4, output_width=4, sampling_ratio=1)
    check_align(case, x, rois, [0] * 6, mode=mode, output_height=2, output_width=2, sampling_ratio=2)


@pytest.mark.parametrize("case", ALIGNED)
def test_version_10_has_no_shift_and_later_ones_have_it_by_default(case):
    """A region of one pixel, (1, 1) to (2, 2), on the ramp x + 10 y: its middle is at 1.5, or at 1 after the shift."""
    x = np.add.outer(10.0 * np.arange(4), np.arange(4))[None, None].astype(case.dtype)
    y = roi_align(case, x, np.array([[1, 1, 2, 2]], case.dtype), [0], sampling_ratio=1)
    assert y.item() == (16.5 if case.version == 10 else 11)


@pytest.mark.parametrize("case", ALIGNED)
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_without_the_shift_a_region_is_at_least_one_pixel_and_with_it_may_be_empty(case, mode):
    rois = np.array([[2, 3, 2, 3], [5, 5, 4, 4], [1, 1, 1.25, 6]], case.dtype)
    check_align(case, image(case), rois, [0, 1, 0], mode=mode, output_height=2, output_width=2)


@pytest.mark.parametrize("case", ALIGNED)
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_samples_carry_nan_and_those_beyond_the_image_do_not(case, mode):
    x = np.ones((1, 1, 5, 5), case.dtype)
    x[0, 0, 0, 0] = np.nan
    rois = np.array([[0.25, 0.25, 1, 1], [-9, -9, -5, -5], [2, 2, 4, 4]], case.dtype)
    mode_of = {"coordinate_transformation_mode": "output_half_pixel"} if case.version > 10 else {}
    y = roi_align(case, x, rois, [0, 0, 0], mode=mode, sampling_ratio=1, **mode_of)
    assert np.isnan(y[0]).all() and y[1].item() == 0 and not np.isnan(y[2]).any()


@pytest.mark.parametrize("case", ALIGNED)
@pytest.mark.parametrize("batch", [2, -1, 2**40])
def test_samples_of_no_image_are_an_error(case, batch):
    with pytest.raises(interp.InterpError):
        roi_align(case, image(case), regions(case, 1), [batch])


@pytest.mark.parametrize("case", [*REGIONS, *ALIGNED])
@pytest.mark.parametrize("channels", [1, 7, 8, 16, 17, 33])
def test_any_number_of_channels(case, channels):
    """The numbers at which blocks of channels fill up and leave a rest."""
    x, corners = image(case, (1, channels, 6, 7)), regions(case, 5, seed=channels)
    if case.op == "MaxRoiPool":
        y = max_roi_pool(case, x, with_batch(case, corners), pooled_shape=[2, 3])
        assert_close(y, oracle.max_roi_pool(x, with_batch(case, corners), pooled_shape=[2, 3]))
    for mode in ("avg", "max") if case.op == "RoiAlign" else ():
        check_align(case, x, corners, [0] * 5, mode=mode, output_height=2, output_width=3)


@pytest.mark.parametrize("case", [*REGIONS, *ALIGNED])
@pytest.mark.parametrize("shape", [(2, 3, 0, 4), (2, 3, 4, 0), (2, 0, 4, 4)])
def test_an_image_without_pixels_or_channels(case, shape):
    """Every bin is empty, every sample outside."""
    x, corners = np.zeros(shape, case.dtype), np.array([[0, 0, 2, 2], [-1, -1, 0, 0]], case.dtype)
    if case.op == "MaxRoiPool":
        y = max_roi_pool(case, x, with_batch(case, corners, 1), pooled_shape=[2, 2])
    else:
        y = roi_align(case, x, corners, [0, 1], output_height=2, output_width=2)
    assert_close(y, np.zeros((2, shape[1], 2, 2), case.dtype))


@pytest.mark.parametrize("case", [*REGIONS, *ALIGNED])
def test_any_number_of_threads_gives_the_same_bits(case):
    x, corners = image(case, (2, 19, 17, 13)), regions(case, 40)
    feeds = {"X": x, "rois": corners, "batch_indices": np.arange(40) % 2}
    attributes = {"output_height": 3, "output_width": 3}
    if case.op == "MaxRoiPool":
        feeds, attributes = {"X": x, "rois": with_batch(case, corners, 1)}, {"pooled_shape": [3, 3]}
    one, two = (run_node(case.op, case.version, feeds, attributes, threads=n)[0] for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def max_unpool(case, x, indices, output_shape=None, **attributes):
    feeds = {"X": x, "I": np.asarray(indices, np.int64)}
    if output_shape is not None:
        feeds["output_shape"] = np.array(output_shape, np.int64)
    return run_node("MaxUnpool", case.version, feeds, attributes, ["output"])[0]


@pytest.mark.parametrize("case", UNPOOLED)
@pytest.mark.parametrize("size", [(9,), (6, 8), (4, 6, 4), (2, 4, 2, 4)])
def test_unpooling_puts_every_maximum_back(case, size):
    x = np.random.default_rng(0).permutation(6 * int(np.prod(size))).reshape(2, 3, *size).astype(case.dtype)
    kernel = [3] if len(size) == 1 else [2] * len(size)
    y, indices = oracle.max_pool(x, kernel_shape=kernel, strides=kernel)
    back = max_unpool(case, y, indices, kernel_shape=kernel, strides=kernel)
    assert_close(back, oracle.max_unpool(y, indices, kernel_shape=kernel, strides=kernel))
    assert back.shape == x.shape and set(back.ravel().tolist()) == {0, *y.ravel().tolist()}


@pytest.mark.parametrize("case", UNPOOLED)
@pytest.mark.parametrize(
    "attributes", [{}, {"strides": [2, 1]}, {"pads": [1, 0, 0, 1]}, {"strides": [3, 2], "pads": [0, 1, 1, 1]}]
)
def test_unpooled_sizes(case, attributes):
    x, indices = image(case, (1, 2, 3, 4)), np.arange(24).reshape(1, 2, 3, 4)
    y = max_unpool(case, x, indices, kernel_shape=[3, 2], **attributes)
    assert_close(y, oracle.max_unpool(x, indices, kernel_shape=[3, 2], **attributes))


@pytest.mark.parametrize("case", UNPOOLED)
def test_an_output_shape_leaves_the_indices_as_they_were(case):
    """As the official node test has it: they count in the 4 × 4 tensor, and that lies in the output's corner."""
    x, indices = np.array([[[[5, 6], [7, 8]]]], case.dtype), np.array([[[[5, 7], [13, 15]]]])
    y = max_unpool(case, x, indices, [1, 1, 5, 6], kernel_shape=[2, 2], strides=[2, 2])
    wanted = np.zeros((1, 1, 5, 6), case.dtype)
    wanted[0, 0, 1, [1, 3]], wanted[0, 0, 3, [1, 3]] = [5, 6], [7, 8]
    assert_close(y, wanted)


@pytest.mark.parametrize("case", UNPOOLED)
def test_an_output_shape_makes_pads_void(case):
    x, indices = np.array([[[5, 6]]], case.dtype), np.array([[[1, 3]]])
    y = max_unpool(case, x, indices, [1, 1, 5], kernel_shape=[2], strides=[2], pads=[1, 0])
    assert y.ravel().tolist() == [0, 5, 0, 6, 0]


@pytest.mark.parametrize("case", UNPOOLED)
def test_of_two_values_at_one_index_the_later_stands(case):
    x = np.arange(1, 9, dtype=case.dtype).reshape(1, 1, 8)
    y = max_unpool(case, x, np.array([[[3, 3, 0, 1, 3, 0, 7, 7]]]), kernel_shape=[1])
    assert y.ravel().tolist() == [6, 4, 0, 5, 0, 0, 0, 8]


@pytest.mark.parametrize("case", UNPOOLED)
@pytest.mark.parametrize("index", [16, -1, 2**40, -(2**40)])
def test_an_index_outside_the_tensor_is_an_error(case, index):
    with pytest.raises(interp.InterpError):
        max_unpool(case, image(case, (1, 1, 2, 2)), [[[[0, 1], [2, index]]]], kernel_shape=[2, 2], strides=[2, 2])


@pytest.mark.parametrize("case", UNPOOLED)
def test_an_empty_batch_unpools_to_an_empty_batch(case):
    y = max_unpool(case, np.zeros((0, 2, 3), case.dtype), np.zeros((0, 2, 3)), kernel_shape=[2], strides=[2])
    assert y.shape == (0, 2, 6)
