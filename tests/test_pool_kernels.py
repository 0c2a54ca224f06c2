"""The kernels of pooling on their own: the sizes that end vectors, what is not finite, threads, and arrays that do not fit."""
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from interp.kernels import pool
from interp.kernels.step import isa
from interp.ops.pool import average_pool, global_lp_pool, lp_pool, max_pool
from interp.ops.window import Window
from interp.registry import misfits, ops_of
from tests import oracle
from tests.tolerance import assert_close, size_of_terms

F32 = np.dtype(np.float32)
FLOATS = [F32, np.dtype(np.float64), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
TYPES = [*FLOATS, np.dtype(np.int8), np.dtype(np.uint8)]
WIDTHS = [1, 2, 7, 8, 9, 15, 16, 17, 33, 65]
SHAPES = {"3x3": ((3, 3), (1, 1), (1, 1)), "3x3 by 2": ((3, 3), (2, 2), (1, 1)), "2x2 by 2": ((2, 2), (2, 2), (0, 0)),
          "1x1 by 2": ((1, 1), (2, 2), (0, 0)), "4x5 by 2": ((4, 5), (2, 2), (2, 3)), "2x4": ((2, 4), (1, 1), (1, 3)),
          "2x3 by 3": ((2, 3), (1, 3), (0, 2))}


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    return rng.standard_normal(shape).astype(dtype)


def result(make, x, window, *more, threads=1, **settings):
    """What a kernel writes over a result full of 77."""
    y = np.full((*x.shape[:2], *window.out), 77, x.dtype)
    make(x, y, window, *more, **settings)(threads)
    return y


def placed(x, kernel, strides, before, **more):
    return Window.of(x.shape, kernel, pads=(*before, *before), strides=strides, **more)


@pytest.mark.parametrize("op", list(ops_of(sys.modules["interp.ops.pool"])), ids=lambda op: f"{op.name}-{op.range}")
def test_every_version_fits_its_schema(op):
    assert not list(misfits(op))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_every_width(dtype, shape):
    kernel, strides, before = SHAPES[shape]
    for width in WIDTHS:
        x = random((2, 2, 5, width), dtype, width)
        where = {"kernel_shape": kernel, "strides": strides, "pads": (*before, *before)}
        if width + 2 * before[1] < kernel[1]:
            continue
        window = placed(x, kernel, strides, before)
        assert_close(result(pool.max, x, window), oracle.max_pool(x, **where)[0])
        if dtype in FLOATS:
            scale = size_of_terms(x)
            assert_close(result(pool.mean, x, window), oracle.average_pool(x, **where), scale)
            assert_close(result(pool.mean, x, window, padded=True), oracle.average_pool(x, count_include_pad=1, **where), scale)
            for p in (1, 2, 3, 2.5):
                want = oracle.lp_pool(x, p=p, **where)
                assert_close(result(pool.norm, x, window, p), want, size_of_terms(x, want))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("size", [0, 1, 3, 8, 31, 49, 64, 1000, 5000])
def test_whole_planes_of_every_size(dtype, size):
    for planes in (1, 3, 8, 17):
        x = random((1, planes, size), dtype, size)
        window = Window.whole(x.shape)
        assert_close(result(pool.max, x, window), oracle.global_max_pool(x))
        assert_close(result(pool.mean, x, window), oracle.global_average_pool(x), size_of_terms(x))
        for p in (1, 2, 3, 1.5):
            want = oracle.global_lp_pool(x, p=p)
            assert_close(result(pool.norm, x, window, p), want, size_of_terms(x, want))


def test_sums_of_many_elements_keep_their_digits():
    x = np.full((1, 1, 3_000_001), 0.1, F32)
    assert abs(float(result(pool.mean, x, Window.whole(x.shape))[0, 0, 0]) / float(F32.type(0.1)) - 1) < 1e-6


@pytest.mark.parametrize("length", [4095, 4096, 9001])
@pytest.mark.parametrize("kernel, stride", [(3, 1), (3, 2), (5, 3), (2000, 7), (4000, 4000)])
def test_rows_longer_than_a_row_buffer(length, kernel, stride):
    x = random((1, 2, length), F32)
    window = Window.of(x.shape, (kernel,), pads=(1, 1), strides=(stride,))
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1)), constant_values=np.nan)
    seen = np.lib.stride_tricks.sliding_window_view(padded, kernel, 2)[:, :, ::stride]
    assert_close(result(pool.max, x, window), np.nanmax(seen, 3).astype(F32))
    assert_close(result(pool.mean, x, window), np.nanmean(seen, 3).astype(F32), 1.0)


@pytest.mark.parametrize("axes", [1, 3, 4, 5])
def test_any_number_of_axes(axes):
    x = random((1, 2, *(3, 4, 2, 5, 3)[:axes]), F32)
    where = {"kernel_shape": (2,) * axes, "pads": (1, 0, 1, 0, 1)[:axes] * 2, "strides": (1, 2, 1, 2, 1)[:axes]}
    window = Window.of(x.shape, **where)
    assert_close(result(pool.max, x, window), oracle.max_pool(x, **where)[0])
    assert_close(result(pool.mean, x, window), oracle.average_pool(x, **where), size_of_terms(x))
    assert_close(result(pool.norm, x, window, 2), oracle.lp_pool(x, p=2, **where), size_of_terms(x))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_nan_wins_wherever_it_stands(dtype, shape):
    kernel, strides, before = SHAPES[shape]
    for place in range(0, 5 * 19, 3):
        x = random((1, 1, 5, 19), dtype)
        x.reshape(-1)[place] = np.nan
        want = oracle.max_pool(x, kernel_shape=kernel, strides=strides, pads=(*before, *before))[0]
        assert_close(result(pool.max, x, placed(x, kernel, strides, before)), want)
    assert np.isnan(result(pool.max, x, Window.whole(x.shape)).astype(F32)).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_largest_of_minus_infinity_is_minus_infinity(dtype):
    x = np.full((1, 2, 4, 11), -np.inf, dtype)
    for window in (placed(x, (3, 3), (2, 2), (1, 1)), placed(x, (2, 2), (2, 2), (0, 0)), Window.whole(x.shape)):
        assert (result(pool.max, x, window).astype(F32) == -np.inf).all()


@pytest.mark.parametrize("p", [1, 2, 3, 0.5])
def test_norms_of_the_extremes(p):
    x = np.array([0, -0.0, 1e-38, -1e-40, 1e-45, np.inf, -np.inf, np.nan, 3e38], F32).reshape(9, 1, 1)
    power = float(p) if p in (2, 3) else 1.0
    got = result(pool.norm, x, Window.whole(x.shape), p).ravel()
    with np.errstate(under="ignore", over="ignore"):
        want = (np.abs(x.astype(F32)) ** F32.type(power)).ravel().astype(np.float64) ** (1 / power)
    np.testing.assert_allclose(got, want.astype(F32), 1e-6, 0)


def test_cube_roots_are_right_to_the_last_bits():
    x = np.exp(np.random.default_rng(0).uniform(-29, 29, 20000)).astype(F32).reshape(-1, 1, 1)
    got = result(pool.norm, x, Window.whole(x.shape), 3).astype(np.float64)
    assert np.max(np.abs(got / x - 1)) < 2.5e-7


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("storage_order", [0, 1])
def test_indices_point_at_the_first_of_the_largest(dtype, storage_order):
    x = (random((2, 3, 4, 9), dtype) if dtype.kind in "iu" else np.round(random((2, 3, 4, 9), F32))).astype(dtype)
    where = {"kernel_shape": (2, 3), "pads": (1, 4, 0, 2), "strides": (1, 2), "dilations": (2, 1)}
    window = Window.of(x.shape, **where)
    indices = np.full((2, 3, *window.out), 77)
    y = result(pool.max, x, window, indices, column_major=bool(storage_order))
    want, at = oracle.max_pool(x, storage_order=storage_order, **where)
    assert_close(y, want)
    np.testing.assert_array_equal(indices, at)


@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5)])
def test_no_planes_are_no_work(shape):
    x = np.zeros(shape, F32)
    window = placed(x, (2, 2), (2, 2), (0, 0))
    assert result(pool.max, x, window, np.zeros((*shape[:2], 2, 2), np.int64)).size == 0
    assert result(pool.mean, x, window).size == result(pool.norm, x, Window.whole(shape), 2).size == 0


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_any_number_of_threads_writes_the_same_bits(dtype):
    x = random((2, 37, 61, 43), dtype)
    for window in (placed(x, (3, 3), (1, 1), (1, 1)), placed(x, (2, 2), (2, 2), (0, 0)), Window.whole(x.shape)):
        for make, more in ((pool.max, ()), (pool.mean, ()), (pool.norm, (3,))):
            one = result(make, x, window, *more)
            for threads in (2, 3, 7):
                assert result(make, x, window, *more, threads=threads).tobytes() == one.tobytes()


def refused(error, match, make, *arguments, **settings):
    with pytest.raises(error, match=match):
        make(*arguments, **settings)


def test_arrays_that_do_not_fit_are_refused():
    x, y = np.zeros((1, 2, 4, 6), F32), np.zeros((1, 2, 2, 3), F32)
    window = placed(x, (2, 2), (2, 2), (0, 0))
    readonly = y.copy()
    readonly.flags.writeable = False
    refused(ValueError, "pools to", pool.max, x, np.zeros((1, 2, 2, 2), F32), window)
    refused(TypeError, "cannot hold", pool.max, x, y.astype(np.float64), window)
    refused(TypeError, "no pool for int32", pool.max, x.astype(np.int32), y.astype(np.int32), window)
    refused(ValueError, "contiguous", pool.max, np.zeros((1, 2, 6, 4), F32).swapaxes(2, 3), y, window)
    refused(ValueError, "contiguous", pool.mean, x, np.zeros((1, 2, 3, 2), F32).swapaxes(2, 3), window)
    refused((ValueError, BufferError), "read-only|not writable", pool.mean, x, readonly, window)
    refused(ValueError, "int64", pool.max, x, y, window, np.zeros(y.shape, np.int32))
    refused(ValueError, "int64", pool.max, x, y, window, np.zeros((1, 2, 3, 2), np.int64))
    refused(ValueError, "pools to", pool.max, np.zeros((4, 6), F32), y, window)


def test_windows_that_cannot_be_are_refused():
    x, y = np.zeros((1, 2, 4, 6), F32), np.zeros((1, 2, 2, 3), F32)

    def window(**changed):
        whole = dict(size=(4, 6), kernel=(2, 2), stride=(2, 2), dilation=(1, 1), before=(0, 0), after=(0, 0), out=(2, 3))
        return Window(**{**whole, **changed})

    for name in ("kernel", "stride", "dilation"):
        refused(ValueError, "no window", pool.max, x, y, window(**{name: (2, 0)}))
    refused(ValueError, "no window", pool.max, x, y, window(before=(-1, 0)))
    refused(ValueError, "has 1 entries", pool.mean, x, y, window(stride=(2,)))
    refused(ValueError, "too large", pool.mean, x, y, window(stride=(2, 2**61)))


def test_operators_run_on_what_a_window_reaches_beyond_the_input():
    """A window that lies anywhere is safe, even one that no node describes."""
    x = random((1, 3, 4, 6), F32)
    far = Window((4, 6), (3, 3), (9, 50), (7, 11), (20, 100), (0, 0), (5, 9))
    for make, more in ((pool.max, ()), (pool.mean, ()), (pool.norm, (2,))):
        assert result(make, x, far, *more).shape == (1, 3, 5, 9)


def test_operators_bind_their_windows():
    x = random((1, 2, 5, 7), F32)
    y = np.empty((1, 2, 2, 3), F32)
    where = dict(kernel_shape=(2, 2), auto_pad="NOTSET", pads=None, strides=(2, 2))
    max_pool(x, **where, storage_order=0, out=[y, None])()
    assert_close(y, oracle.max_pool(x, kernel_shape=(2, 2), strides=(2, 2))[0])
    average_pool(x, **where, out=y)()
    assert_close(y, oracle.average_pool(x, kernel_shape=(2, 2), strides=(2, 2)), 1.0)
    lp_pool(x, **where, p=2.0, out=y)()
    assert_close(y, oracle.lp_pool(x, kernel_shape=(2, 2), strides=(2, 2)), 1.0)
    total = np.empty((1, 2, 1, 1), F32)
    global_lp_pool(x, p=1, out=total)()
    assert_close(total, oracle.global_lp_pool(x, p=1), 35.0)


def test_indices_come_without_their_maxima():
    x = random((1, 2, 5, 7), F32)
    indices = np.full((1, 2, 2, 3), 77)
    later = max_pool(x, kernel_shape=(2, 2), auto_pad="NOTSET", pads=None, strides=(2, 2), storage_order=0, out=[None, indices])
    later()
    np.testing.assert_array_equal(indices, oracle.max_pool(x, kernel_shape=(2, 2), strides=(2, 2))[1])


def test_the_same_with_the_other_instruction_set():
    """The tests above, on the baseline, where they ran on another."""
    if isa() == "baseline":
        return
    here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "not other_instruction_set"]
    done = subprocess.run(here, env={**os.environ, "INTERP_ISA": "baseline"}, capture_output=True, text=True,
                          cwd=Path(__file__).parent.parent)
    assert done.returncode == 0, done.stdout[-3000:]
