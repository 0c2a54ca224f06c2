"""Matrix products against NumPy's in float64: sizes that break loops, packed or not, both instruction sets, any threads."""
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from interp.dims import Fact, named
from interp.kernels import gemm
from interp.kernels.step import Later, isa
from interp.ops import matmul
from interp.registry import misfits

TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]
# Errors are relative to the sum of the absolute terms; 16-bit results are rounded once more.
TOLERANCE = {np.float32: 2e-6, np.float64: 4e-15, np.float16: 1e-3, ml_dtypes.bfloat16: 8e-3}
SIZES = [(1, 1, 1), (1, 300, 200), (1, 17, 64), (2, 3, 31), (5, 600, 100), (13, 5, 17), (100, 257, 33), (19, 64, 449),
         (203, 70, 400)]


def drawn(shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def wide(x):
    return np.asarray(x, np.float64)


def held(y, terms, dtype, *addends):
    """Whether a product is near the float64 one, for factors (a, b) and what is added to it."""
    a, b = map(wide, terms)
    due, scale = a @ b, np.abs(a) @ np.abs(b)
    for c in addends:
        due, scale = due + wide(c), scale + np.abs(wide(c))
    assert y.shape == due.shape and y.dtype == dtype
    assert np.all(np.abs(wide(y) - due) <= TOLERANCE[dtype] * scale + 1e-30)


def always(make, array, *settings):
    return make(array, *settings)


def never(make, array, *settings):
    return array


def empty_result(a, b, dtype):
    """A poisoned buffer for a product."""
    return np.full(np.matmul(wide(a), wide(b)).shape, np.nan, dtype)


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_product_is_near_the_exact_one(size, dtype, constant):
    m, k, n = size
    a, b = drawn((m, k), dtype), drawn((k, n), dtype, 1)
    y = empty_result(a, b, dtype)
    matmul.mat_mul(a, b, constant=constant, out=y)()
    held(y, (a, b), dtype)


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize(("left", "right"), [
    ((5,), (5,)), ((5,), (5, 3)), ((4, 5), (5,)), ((2, 4, 5), (5,)), ((5,), (2, 5, 3)), ((2, 1, 4, 5), (3, 5, 6)),
    ((3, 4, 5), (5, 6)), ((1, 4, 5), (2, 5, 6)), ((7, 4, 5), (1, 5, 6)), ((4, 5), (2, 3, 5, 18)), ((2, 3, 40, 5), (2, 3, 5, 33)),
])
def test_batches_and_vectors_broadcast_as_in_numpy(left, right, constant):
    a, b = drawn(left), drawn(right, seed=1)
    y = empty_result(a, b, np.float32)
    matmul.mat_mul(a, b, constant=constant, out=y)()
    held(y, (a, b), np.float32)
    assert matmul.multiplied(Fact("tensor(float)", left), Fact("tensor(float)", right)) == [y.shape]


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize(("m", "k", "n"), [(0, 3, 4), (3, 0, 5), (3, 4, 0), (0, 0, 0), (1, 0, 70)])
def test_empty_factors_give_nothing_or_zeros(m, k, n, constant):
    y = np.full((m, n), np.nan, np.float32)
    matmul.mat_mul(drawn((m, k)), drawn((k, n)), constant=constant, out=y)()
    assert np.array_equal(y, np.zeros((m, n)))


def test_an_empty_batch_runs():
    y = np.empty((0, 3, 5), np.float32)
    matmul.mat_mul(drawn((0, 3, 4)), drawn((4, 5)), constant=never, out=y)()
    matmul.mat_mul(drawn((0, 3, 4)), drawn((0, 4, 5)), constant=always, out=y)()


@pytest.mark.parametrize("constant", [always, never])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("c", [None, (), (1,), (37,), (1, 37), (23, 1), (23, 37), (1, 1)])
def test_gemm_scales_transposes_and_adds(c, trans_b, trans_a, dtype, constant):
    m, k, n = 23, 270, 37
    a, b = drawn((k, m) if trans_a else (m, k), dtype), drawn((n, k) if trans_b else (k, n), dtype, 1)
    added = None if c is None else np.asarray(drawn(c, seed=2), dtype)
    y = np.full((m, n), np.nan, dtype)
    matmul.gemm_(a, b, added, alpha=0.5, beta=-2.0, transA=trans_a, transB=trans_b, constant=constant, out=y)()
    factors = 0.5 * wide(a.T if trans_a else a), wide(b.T if trans_b else b)
    held(y, factors, dtype, *(() if added is None else (-2 * wide(added),)))


def test_the_bits_do_not_depend_on_threads():
    for m, k, n, constant in [(1, 700, 3000, always), (300, 700, 500, always), (300, 700, 500, never), (7, 512, 64, never)]:
        a, b = drawn((m, k)), drawn((k, n), seed=1)
        found = []
        for threads in (1, 2, 5):
            y = empty_result(a, b, np.float32)
            matmul.mat_mul(a, b, constant=constant, out=y)(threads)
            found.append(y.tobytes())
        assert len(set(found)) == 1


def test_factors_may_move_between_runs_of_a_step():
    a, b, y = drawn((9, 30)), drawn((30, 20), seed=1), np.empty((9, 20), np.float32)
    step = matmul.mat_mul(a, b, constant=never, out=y)
    for seed in (2, 3):
        a[...], b[...] = drawn(a.shape, seed=seed), drawn(b.shape, seed=seed + 9)
        step()
        held(y, (a, b), np.float32)


def test_infinities_and_nan_go_through():
    a, b = np.ones((7, 20), np.float32), np.ones((20, 40), np.float32)
    a[2, 3], b[5, 6] = np.inf, np.nan
    y = empty_result(a, b, np.float32)
    matmul.mat_mul(a, b, constant=never, out=y)()
    assert np.array_equal(y, a @ b, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_whole_numbers_are_exact(dtype):
    a, b, c = (np.random.default_rng(s).integers(0, 1 << 20, (6, 6)).astype(dtype) for s in range(3))
    y = np.empty((6, 6), dtype)
    step = matmul.mat_mul(a, b, constant=never, out=y)
    assert isinstance(step, Later)
    step()
    due = a.astype(object) @ b.astype(object)
    assert np.array_equal(y, (due % (1 << 8 * y.itemsize)).astype(np.uint64).astype(dtype))
    matmul.gemm_(a, b, c, alpha=1.0, beta=2.0, transA=0, transB=1, constant=never, out=y)()
    due = a.astype(object) @ b.T.astype(object) + 2 * c.astype(object)
    assert np.array_equal(y, (due % (1 << 8 * y.itemsize)).astype(np.uint64).astype(dtype))


def test_factors_of_whole_numbers():
    def scaled(value, alpha, beta=0.0, dtype=np.int32):
        a, y = np.array([[value]], dtype), np.empty((1, 1), dtype)
        matmul.gemm_(a, np.ones((1, 1), dtype), a, alpha=alpha, beta=beta, transA=0, transB=0, constant=never, out=y)()
        return y.item()

    assert scaled(3, -1.0, dtype=np.uint32) == 2**32 - 3  # whole factors wrap around
    assert scaled(2**31 - 1, 2.0) == -2
    assert [scaled(7, 0.5), scaled(-7, 0.5), scaled(7, 0.5, 0.25)] == [3, -3, 5]  # others are cut off
    assert [scaled(2**31 - 1, 1.5), scaled(-(2**31), 1.5), scaled(3, -0.5, dtype=np.uint32)] == [2**31 - 1, -(2**31), 0]
    assert [scaled(1, float("inf")), scaled(0, float("inf")), scaled(1, 1e300)] == [2**31 - 1, 0, 2**31 - 1]


def test_what_does_not_fit_is_refused():
    a, y = drawn((3, 4)), np.empty((3, 5), np.float32)
    with pytest.raises(ValueError, match="times"):
        gemm.product(a, drawn((5, 5)), y)
    with pytest.raises(ValueError, match="broadcast"):
        gemm.product(a, drawn((4, 5)), y, drawn((4, 5)))
    with pytest.raises(ValueError, match="no matrix"):
        gemm.product(a, drawn((4,)), y)
    with pytest.raises(TypeError, match="float64"):
        gemm.product(a, gemm.Packed(drawn((4, 5), np.float64)), y)


def test_shapes_of_named_sizes():
    n, k = named("N"), named("K")
    assert matmul.multiplied(Fact("tensor(float)", (n, 3, k)), Fact("tensor(float)", (k, 7))) == [(n, 3, 7)]
    a, b = Fact("tensor(float)", (k, n)), Fact("tensor(float)", (7, k))
    assert matmul.gemm_shape(a, b, None, transA=1, transB=1, alpha=1.0, beta=1.0) == [(n, 7)]
    a, b, c = (Fact("tensor(float)", shape) for shape in ((3, 4), (4, 5), (5,)))
    assert matmul.gemm_shape(a, b, c, transA=0, transB=0, broadcast=1) == [(3, 5)]
    with pytest.raises(ValueError, match="broadcast"):
        matmul.gemm_shape(a, b, c, transA=0, transB=0, broadcast=0)


def test_the_declarations_fit_every_schema():
    for op in (matmul.mat_mul, matmul.gemm_, *matmul.gemm_.others):
        assert list(misfits(op)) == []


@pytest.mark.skipif(isa() == "baseline", reason="this machine has one instruction set, or the test already forces it")
def test_the_baseline_gives_the_same_answers():
    here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(here, env={**os.environ, "INTERP_ISA": "baseline"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("dtype", TYPES)
def test_a_beta_of_zero_leaves_the_third_matrix_unread(dtype):
    """As in BLAS, PyTorch and onnxruntime."""
    a, b = drawn((3, 4), dtype), drawn((4, 5), dtype, 1)
    y = np.empty((3, 5), dtype)
    matmul.gemm_.run(a, b, np.full(5, np.nan, dtype), alpha=1.0, beta=0.0, transA=0, transB=0, constant=never, out=y)(1)
    held(y, (a, b), dtype)
