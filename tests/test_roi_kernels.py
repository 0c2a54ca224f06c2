"""MaxRoiPool and RoiAlign against the float64 oracle, and where numbers stop being numbers."""
import numpy as np
import pytest

from interp.dims import Fact, named
from interp.kernels.step import KernelFailed
from interp.ops import roi
from interp.registry import misfits
from tests import oracle
from tests.every import every
from tests.tolerance import assert_close, size_of_terms

F32 = np.dtype(np.float32)
SIZES = [(2, 1, 1, 1), (1, 3, 7, 5), (2, 16, 9, 31), (3, 17, 13, 8), (1, 40, 2, 64)]
RATIOS = [0, 1, 2, 5]
HUGE = [1e9, -1e9, 1e30, -1e30, np.inf, -np.inf, np.nan]


def random(shape, dtype, low=-1.0, high=1.0, seed=0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def boxes(count, shape, dtype, scale, seed=1):
    """Corners in and around a map, in order and not, some of them on whole and half cells."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-0.4, 1.4, (count, 4)) * np.array([shape[3], shape[2]] * 2) / scale
    corners[::3] = np.round(corners[::3] * 2) / 2
    corners[1::4] = np.sort(corners[1::4].reshape(-1, 2, 2), 1).reshape(-1, 4)
    return corners.astype(dtype)


def max_roi(x, rois, pooled_shape, scale=1.0, threads=1):
    out = np.full((len(rois), x.shape[1], *pooled_shape), 77, x.dtype)
    roi.max_roi_pool(x, rois, pooled_shape=pooled_shape, spatial_scale=scale, out=out)(threads)
    return out


def align(x, rois, batch, size, scale=1.0, ratio=0, mode="avg", threads=1, **shift):
    out = np.full((len(rois), x.shape[1], *size), 77, x.dtype)
    roi.roi_align(x, rois, batch, mode=mode, output_height=size[0], output_width=size[1], sampling_ratio=ratio,
                  spatial_scale=scale, out=out, **shift)(threads)
    return out


def with_images(corners, images, dtype):
    return np.column_stack([np.arange(len(corners)) % images, corners.astype(np.float64)]).astype(dtype)


@pytest.mark.parametrize("op", [roi.max_roi_pool, roi.roi_align, roi.max_unpool], ids=lambda op: op.name)
def test_every_version_fits_its_schema(op):
    assert not list(misfits(op))


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("pooled_shape", [(1, 1), (2, 3), (7, 7), (3, 300)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 0.37])
def test_the_largest_of_every_bin(shape, pooled_shape, scale):
    x = random(shape, F32)
    rois = with_images(boxes(9, shape, F32, scale), shape[0], F32)
    expected = oracle.max_roi_pool(x, rois, pooled_shape=pooled_shape, spatial_scale=scale)
    assert_close(max_roi(x, rois, pooled_shape, scale), expected)


@pytest.mark.parametrize("case", every("MaxRoiPool"))
def test_the_largest_for_every_type(case):
    x = random((2, 19, 11, 6), case.dtype)
    rois = with_images(boxes(12, x.shape, case.dtype, 0.5), 2, case.dtype)
    assert_close(max_roi(x, rois, (3, 2), 0.5), oracle.max_roi_pool(x, rois, pooled_shape=(3, 2), spatial_scale=0.5))


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("shift", roi.SHIFTS)
def test_samples_of_every_bin(shape, ratio, mode, shift):
    x, scale, size = random(shape, F32), 0.37, (3, 4)
    rois, batch = boxes(9, shape, F32, scale), np.arange(9) % shape[0]
    expected = oracle.roi_align(x, rois, batch, mode=mode, output_height=3, output_width=4, sampling_ratio=ratio,
                                spatial_scale=scale, coordinate_transformation_mode=shift)
    actual = align(x, rois, batch, size, scale, ratio, mode, coordinate_transformation_mode=shift)
    assert_close(actual, expected, size_of_terms(x))


@pytest.mark.parametrize("case", every("RoiAlign"))
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_samples_for_every_type(case, mode):
    x = random((2, 19, 11, 6), case.dtype)
    rois, batch = boxes(12, x.shape, case.dtype, 0.5), np.arange(12) % 2
    name = "coordinate_transformation_mode"
    given = {name: "half_pixel"} if case.has(name) else {}
    expected = oracle.roi_align(x, rois, batch, mode=mode, output_height=5, output_width=2, spatial_scale=0.5,
                                **{name: "output_half_pixel"} | given)
    assert_close(align(x, rois, batch, (5, 2), 0.5, mode=mode, **given), expected, size_of_terms(x))


def test_halves_round_away_from_zero():
    x = np.arange(64, dtype=F32).reshape(1, 1, 8, 8)
    rois = np.array([[0, 1, 1, 5, 5], [0, -1, -1, 5, 5], [0, 3, 3, 3, 3]], F32)
    # Corners 0.5 and 2.5 become 1 and 3, -0.5 becomes -1, 1.5 becomes 2.
    np.testing.assert_array_equal(max_roi(x, rois, (1, 1), 0.5).ravel(), [27, 27, 18])


def test_bins_follow_the_arithmetic_of_the_type():
    """In float32, 3 · (7/3) is 7; a bin that ended past it would see the eighth column."""
    x = np.zeros((1, 1, 1, 40), F32)
    for columns in range(1, 40):
        rois = np.array([[0, 0, 0, columns - 1, 0]], F32)
        x[..., :] = np.arange(40)
        for bins in (3, 5, 7):
            expected = oracle.max_roi_pool(x, rois, pooled_shape=(1, bins))
            assert_close(max_roi(x, rois, (1, bins)), expected)


def test_an_empty_bin_is_zero_whatever_the_data():
    x = np.full((1, 2, 4, 4), -np.inf, F32)
    rois = np.array([[0, 10, 10, 12, 12], [0, -9, -9, -5, -5], [0, 2, 2, 6, 6]], F32)
    out = max_roi(x, rois, (2, 2))
    assert (out[:2] == 0).all()
    assert (out[2, :, 0, 0] == -np.inf).all() and (out[2, :, 1, 1] == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_in_the_map_propagates_to_the_bins_that_see_it(dtype):
    x = random((1, 20, 6, 6), dtype)
    x[0, 3, 2, 2] = np.nan
    out = max_roi(x, np.array([[0, 0, 0, 5, 5]], dtype), (2, 2))
    assert np.argwhere(np.isnan(out)).tolist() == [[0, 3, 0, 0]]
    for mode in ("avg", "max"):
        out = align(x, np.array([[0, 0, 6, 6]], dtype), np.zeros(1, np.int64), (2, 2), ratio=2, mode=mode)
        assert np.argwhere(np.isnan(out)).tolist() == [[0, 3, 0, 0]]


@pytest.mark.parametrize("number", [-1, -0.5, 3, 1e30, np.nan, np.inf])
def test_a_batch_index_out_of_range_fails(number):
    x = np.ones((3, 2, 4, 4), F32)
    with pytest.raises(KernelFailed, match="out of range"):
        max_roi(x, np.array([[0, 0, 0, 1, 1], [number, 0, 0, 1, 1]], F32), (2, 2))


@pytest.mark.parametrize("number", [-1, 3, 1 << 62, -(1 << 63)])
def test_an_entry_of_batch_indices_out_of_range_fails(number):
    x = np.ones((3, 2, 4, 4), F32)
    with pytest.raises(KernelFailed, match="out of range"):
        align(x, np.array([[0, 0, 1, 1]] * 2, F32), np.array([2, number]), (2, 2))


@pytest.mark.parametrize("corner", range(4))
@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_wild_corners_are_harmless(corner, value, dtype):
    x = np.ones((1, 3, 5, 6), dtype)
    rois = np.array([[0, 0, 4, 4]], F32)
    rois[0, corner] = value
    with np.errstate(over="ignore"):
        rois = rois.astype(dtype)
    out = max_roi(x, with_images(rois, 1, dtype), (3, 3))
    assert np.isnan(out).all() if np.isnan(value) else ((out == 0) | (out == 1)).all()
    for ratio, mode, shift in [(0, "avg", "half_pixel"), (0, "max", "output_half_pixel"), (3, "avg", "output_half_pixel")]:
        out = align(x, rois, np.zeros(1, np.int64), (3, 3), ratio=ratio, mode=mode, coordinate_transformation_mode=shift)
        assert np.isfinite(out).all() if np.isfinite(rois).all() else np.isnan(out).all()


def test_huge_regions_see_the_map_as_far_as_it_goes():
    x = np.ones((1, 1, 4, 4), F32)
    rois = np.array([[0, -3e9, -3e9, 3e9, 3e9], [0, 2, 2, 3e9, 3e9], [0, 2, 2, -3e9, -3e9]], F32)
    np.testing.assert_array_equal(max_roi(x, rois, (1, 1)).ravel(), [1, 1, 1])


def test_an_adaptive_grid_over_a_huge_region_counts_every_sample():
    """Of a million by a million samples in a bin, those of the map add up to its area and rim."""
    x, size = np.ones((1, 1, 4, 4), np.float64), 1e6
    out = align(x, np.array([[-1, -1, size - 1, size - 1]], np.float64), np.zeros(1, np.int64), (1, 1))
    # Samples stand at -0.5, 0.5, 1.5, …: five by five within [-1, 4].
    assert_close(out, np.full_like(out, 25 / size**2), 1 / size**2)
    assert align(x, np.array([[-1, -1, size - 1, size - 1]]), np.zeros(1, np.int64), (1, 1), mode="max").item() == 1


def test_regions_turned_inside_out_have_no_samples_unless_a_ratio_asks():
    x = random((1, 2, 6, 6), F32)
    rois, batch, shift = np.array([[5, 5, 1, 1]], F32), np.zeros(1, np.int64), {"coordinate_transformation_mode": "half_pixel"}
    assert (align(x, rois, batch, (2, 2), **shift) == 0).all()
    turned = align(x, np.array([[1, 1, 5, 5]], F32), batch, (2, 2), ratio=2, **shift)
    assert_close(align(x, rois, batch, (2, 2), ratio=2, **shift), turned[..., ::-1, ::-1], 1.0)


@pytest.mark.parametrize("shape", [(1, 2, 0, 3), (1, 2, 3, 0), (2, 0, 3, 3)], ids=str)
def test_empty_maps_give_zeros(shape):
    x = np.ones(shape, F32)
    rois = np.array([[0, 0, 0, 2, 2]], F32)
    assert not max_roi(x, rois, (2, 2)).any()
    for mode in ("avg", "max"):
        assert not align(x, rois[:, 1:], np.zeros(1, np.int64), (2, 2), mode=mode).any()


def test_no_regions_no_results():
    x = np.ones((0, 2, 3, 3), F32)
    assert max_roi(x, np.ones((0, 5), F32), (2, 2)).shape == (0, 2, 2, 2)
    assert align(x, np.ones((0, 4), F32), np.ones(0, np.int64), (2, 2)).shape == (0, 2, 2, 2)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_bit(threads):
    x, rois = random((2, 50, 40, 40), F32), boxes(60, (2, 50, 40, 40), F32, 1)
    batch, images = np.arange(60) % 2, with_images(rois, 2, F32)
    assert max_roi(x, images, (7, 7)).tobytes() == max_roi(x, images, (7, 7), threads=threads).tobytes()
    assert align(x, rois, batch, (7, 7)).tobytes() == align(x, rois, batch, (7, 7), threads=threads).tobytes()


def test_a_step_reads_new_data_at_every_run():
    x, rois, out = np.ones((1, 2, 4, 4), F32), np.array([[0, 0, 0, 1, 1]], F32), np.empty((1, 2, 1, 1), F32)
    step = roi.max_roi_pool(x, rois, pooled_shape=(1, 1), spatial_scale=1.0, out=out)
    step()
    x[:], rois[:] = np.arange(32).reshape(x.shape), [[0, 2, 2, 3, 3]]
    step()
    np.testing.assert_array_equal(out.ravel(), [15, 31])


def facts(*shapes):
    return [Fact("tensor(float)", s) for s in shapes]


def test_shapes_keep_names():
    n, r = named("n"), named("r")
    assert roi.max_roi_pool.shape(*facts((n, 3, 8, 8), (r, 5)), pooled_shape=(7, 6), spatial_scale=1.0) == [(r, 3, 7, 6)]
    sizes = {"output_height": 2, "output_width": 3, "mode": "avg"}
    assert roi.roi_align.shape(*facts((n, 3, 8, 8), (r, 4), (10,)), **sizes) == [(10, 3, 2, 3)]


@pytest.mark.parametrize("shapes", [((1, 3, 8), (2, 5)), ((1, 3, 8, 8), (2, 4)), ((1, 3, 8, 8), (2, 5, 1))], ids=str)
def test_impossible_shapes_are_refused(shapes):
    with pytest.raises(ValueError, match="rois"):
        roi.max_roi_pool.shape(*facts(*shapes), pooled_shape=(7, 6))


@pytest.mark.parametrize("attributes, name", [
    ({"mode": "sum"}, "mode"), ({"ratio": -1}, "sampling_ratio"), ({"ratio": 1 << 40}, "sampling_ratio"),
    ({"coordinate_transformation_mode": "pixel"}, "coordinate_transformation_mode"),
])
def test_impossible_attributes_are_refused_by_name(attributes, name):
    with pytest.raises(ValueError, match=name):
        align(np.ones((1, 1, 2, 2), F32), np.ones((1, 4), F32), np.zeros(1, np.int64), (1, 1), **attributes)
