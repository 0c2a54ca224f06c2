"""Einsum by the letter, and triangles, identities and determinants."""
import itertools

import ml_dtypes
import numpy as np
import onnx
import pytest

import interp
from interp.dims import Fact, named
from interp.ops import einsum as ops
from interp.ops import matrix

from .every import run_node

F = np.float32


def einsum(equation, *operands, opset=12):
    feeds = {f"x{i}": x for i, x in enumerate(operands)}
    return run_node("Einsum", opset, feeds, {"equation": equation}, {"y": operands[0].dtype})[0]


def drawn(*shape):
    return np.random.default_rng(len(shape)).uniform(-1, 1, shape).astype(F)


def summed(terms, result, *operands):
    """Every product for every place of every letter, one by one."""
    sizes = {c: n for term, x in zip(terms, operands, strict=True) for c, n in zip(term, x.shape, strict=True)}
    found = np.zeros([sizes[c] for c in result])
    for place in itertools.product(*map(range, sizes.values())):
        at = dict(zip(sizes, place, strict=True))
        factors = [float(x[tuple(at[c] for c in t)]) for t, x in zip(terms, operands, strict=True)]
        found[tuple(at[c] for c in result)] += np.prod(factors)
    return found


@pytest.mark.parametrize("equation, terms, result, shapes", [
    ("ij,jk->ik", ["ij", "jk"], "ik", [(2, 3), (3, 4)]), ("ij,jk", ["ij", "jk"], "ik", [(2, 3), (3, 4)]),
    (" i j , j k -> k i ", ["ij", "jk"], "ki", [(2, 3), (3, 4)]), ("ii->i", ["ii"], "i", [(3, 3)]), ("ii", ["ii"], "", [(3, 3)]),
    ("iij->j", ["iij"], "j", [(3, 3, 2)]), ("ij->", ["ij"], "", [(2, 3)]), ("i,i->", ["i", "i"], "", [(3,), (3,)]),
    ("i,j", ["i", "j"], "ij", [(3,), (2,)]), ("ba", ["ba"], "ab", [(2, 3)]), ("aB", ["aB"], "Ba", [(2, 3)]),
    ("ij,kj,k->ik", ["ij", "kj", "k"], "ik", [(2, 3), (4, 3), (4,)]), (",i->i", ["", "i"], "i", [(), (3,)]),
    ("i->i", ["i"], "i", [(0,)]), ("ij,jk->ik", ["ij", "jk"], "ik", [(2, 0), (0, 3)]),
    ("bhid,bhjd->bhij", ["bhid", "bhjd"], "bhij", [(2, 3, 4, 5), (2, 3, 6, 5)])])
def test_equations_mean_their_sums(equation, terms, result, shapes):
    operands = [drawn(*s) for s in shapes]
    np.testing.assert_allclose(einsum(equation, *operands), summed(terms, result, *operands), rtol=1e-5, atol=1e-6)


def test_an_ellipsis_stands_for_axes_that_repeat():
    a, b = drawn(2, 1, 3, 4), drawn(5, 4, 6)[None]
    wide = np.matmul(a.astype(float), b.astype(float))
    np.testing.assert_allclose(einsum("...ij,...jk->...ik", a, b), wide, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(einsum("...ij,...jk", a, b), wide, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(einsum("...ij,...jk->ik...", a, b), np.moveaxis(wide, (0, 1), (2, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(einsum("...ij->ij", a), a.astype(float).sum((0, 1)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(einsum("...ii->...i", drawn(2, 3, 3)), np.diagonal(drawn(2, 3, 3), 0, 1, 2))
    np.testing.assert_allclose(einsum("b...->...", drawn(2, 3)), drawn(2, 3).sum(0), rtol=1e-6)
    assert einsum("...,...->...", np.array(2, F), np.array(3, F)).tolist() == 6


def test_large_sums_of_three_take_a_good_order():
    a, b, c = (drawn(1, 40, 40)[0] for _ in range(3))
    np.testing.assert_allclose(einsum("ij,jk,kl->il", a, b, c), a.astype(float) @ b @ c, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
def test_integers_wrap_around(dtype):
    most = int(np.iinfo(dtype).max)
    bits = np.dtype(dtype).itemsize * 8
    due = np.array([(most * most + 2 * most * 3) % 2**bits], object).astype(f"u{bits // 8}").view(dtype)
    assert einsum("i,i->", np.array([most, most, 3], dtype), np.array([most, 3, most], dtype)) == due[0]


def test_sixteen_bits_are_summed_in_thirty_two():
    for dtype, opset in ((np.float16, 12), (ml_dtypes.bfloat16, 28)):
        x = np.ones(4000, dtype)
        assert einsum("i->", x, opset=opset) == dtype(4000)


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3)]), ("ij->ij", [(2, 3, 4)]), ("ij->ij", [(2,)]), ("ij->ijk", [(2, 3)]), ("ij->ii", [(2, 3)]),
    ("i.j->ij", [(2, 3)]), ("....i->i", [(2, 3)]), ("i1->i", [(2, 3)]), ("ij->i->j", [(2, 3)]), ("iß->i", [(2, 3)]),
    ("ij,jk->ik", [(2, 3), (4, 5)]), ("ii->i", [(2, 3)]), ("...ij->...", [(2,)]), ("...i,...i->...", [(2, 3), (3,)]),
    ("", [(2,)]), ("->", [(2,)]), ("i-j", [(2, 3)]), ("......", [(2,)])])
def test_equations_that_do_not_fit_are_refused(equation, shapes):
    with pytest.raises(interp.InterpError, match="Einsum"):
        interp.load(model(equation, shapes), threads=1).run(None, {f"x{i}": np.zeros(s, F) for i, s in enumerate(shapes)})


def model(equation, shapes):
    """An Einsum that the checker would refuse."""
    inputs = [onnx.helper.make_tensor_value_info(f"x{i}", 1, s) for i, s in enumerate(shapes)]
    node = onnx.helper.make_node("Einsum", [i.name for i in inputs], ["y"], equation=equation)
    graph = onnx.helper.make_graph([node], "einsum", inputs, [onnx.helper.make_tensor_value_info("y", 1, None)])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 12)], ir_version=10)


def test_shapes_of_sums_with_names():
    n, m = named("N"), named("M")
    a, b = Fact("tensor(float)", (n, m, 3)), Fact("tensor(float)", (n, 3, m * 2))
    assert ops.einsum.shape(a, b, equation="bij,bjk->bik") == [(n, m, m * 2)]
    assert ops.einsum.shape(a, equation="...i") == [(n, m, 3)]


# Triangles, identities, determinants


def trilu(x, k=None, **attributes):
    feeds = {"input": x} | ({} if k is None else {"k": np.array(k)})
    return run_node("Trilu", 14, feeds, attributes, ("output",))[0]


@pytest.mark.parametrize("k", [None, -(2**62), -5, -1, 0, 1, 2, 9, 2**62])
def test_triangles_above_and_below_any_diagonal(k):
    for shape in [(4, 4), (3, 5), (5, 3), (2, 3, 4), (2, 0, 3), (0, 0)]:
        x = np.arange(1, np.prod(shape) + 1).reshape(shape)
        at = min(max(k or 0, -9), 9)
        assert np.array_equal(trilu(x, k), np.triu(x, at))
        assert np.array_equal(trilu(x, k, upper=0), np.tril(x, at))


def test_triangles_of_texts_and_truths():
    assert trilu(np.array([["a", "b"], ["c", "d"]], object)).tolist() == [["a", "b"], ["", "d"]]
    assert trilu(np.ones((2, 2), bool), upper=0).tolist() == [[True, False], [True, True]]


def test_triangles_refuse_what_is_no_matrix():
    with pytest.raises(interp.InterpError, match="two axes"):
        trilu(np.zeros(3))
    with pytest.raises(interp.InterpError, match="one number"):
        trilu(np.zeros((3, 3)), [0, 1])


@pytest.mark.parametrize("k", [-(2**62), -3, -1, 0, 2, 4, 2**62])
def test_ones_on_any_diagonal(k):
    found = run_node("EyeLike", 9, {"input": np.zeros((3, 4), np.int32)}, {"k": k}, {"output": np.dtype("i4")})[0]
    assert found.dtype == np.int32 and np.array_equal(found, np.eye(3, 4, min(max(k, -5), 5)))


def test_an_identity_takes_a_matrix_and_a_type_it_can_have():
    x = Fact("tensor(float)", (named("N"), 3))
    assert matrix.eye_like.shape(x, dtype=7, k=0) == [Fact("tensor(int64)", x.shape)]
    for wrong, dtype in ((Fact("tensor(float)", (3,)), None), (x, 8), (x, 99)):
        with pytest.raises(ValueError, match="EyeLike"):
            matrix.eye_like.shape(wrong, dtype=dtype, k=0)


def test_determinants():
    def det(x, opset=22):
        return run_node("Det", opset, {"X": x}, {}, ("Y",))[0]

    assert det(np.array([[2, 1], [4, 5]], F)).tolist() == pytest.approx(6)
    assert det(np.array([[1, 2], [2, 4]], F)) == pytest.approx(0, abs=1e-6)
    assert det(np.zeros((2, 0, 0), F)).tolist() == [1, 1] and det(np.zeros((0, 3, 3), F)).shape == (0,)
    assert np.isnan(det(np.array([[np.nan, 1], [1, 1]])))
    assert det(np.full((1, 1), 3, ml_dtypes.bfloat16)).tolist() == 3
    with pytest.raises(interp.InterpError, match="determinant of 2 x 3"):
        det(np.zeros((2, 3), F))
