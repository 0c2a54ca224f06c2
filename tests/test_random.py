"""Random operators: distributions, seeds, and the official tests whose expected values are draws."""
import numpy as np
import pytest

import interp
from interp import backend

from .every import run_node
from .test_official import EXPECTED_FAILURES, collected, model_and_sets

MANY = 200_000
DRAWS = [case for case in collected() if "random draw" in EXPECTED_FAILURES.get(case.name, "")]


def drawn(op, attributes, opset=22):
    [y] = run_node(op, opset, {}, attributes | {"shape": [MANY]}, {"Y": np.float32})
    return y.astype(float)


def test_normal_numbers_have_the_moments_and_the_tails_of_the_normal_distribution():
    z = (drawn("RandomNormal", {"mean": 3.0, "scale": 2.0, "seed": 1.0}) - 3) / 2
    assert abs(z.mean()) < 0.01 and abs(z.std() - 1) < 0.01 and abs((z ** 3).mean()) < 0.03 and abs((z ** 4).mean() - 3) < 0.1
    for limit, share in ((1, 0.6827), (2, 0.9545), (3, 0.9973)):
        assert abs((abs(z) < limit).mean() - share) < 0.005


def test_uniform_numbers_fill_the_range_evenly():
    y = drawn("RandomUniform", {"low": -2.0, "high": 6.0, "seed": 1.0})
    counts, _ = np.histogram(y, 8, (-2, 6))
    assert y.min() >= -2 and y.max() < 6 and (abs(counts / MANY - 1 / 8) < 0.005).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_uniform_numbers_never_reach_the_upper_limit(dtype):
    code = {np.float16: 10, np.float32: 1}[dtype]
    [y] = run_node("RandomUniform", 22, {}, {"shape": [MANY], "dtype": code, "low": 0.0, "high": 1.0, "seed": 2.0}, {"Y": dtype})
    assert y.dtype == dtype and y.max() < 1 and y.min() >= 0


def test_successive_numbers_are_not_correlated():
    z = drawn("RandomNormal", {"seed": 5.0})
    assert abs((z[1:] * z[:-1]).mean()) < 0.01


def test_multinomial_draws_classes_by_their_probabilities():
    logs = np.log(np.float32([[1, 2, 7], [50, 30, 20]]))
    [y] = run_node("Multinomial", 22, {"x": logs}, {"sample_size": MANY, "seed": 3.0, "dtype": 7}, {"Y": np.int64})
    for row, due in zip(y, ([0.1, 0.2, 0.7], [0.5, 0.3, 0.2]), strict=True):
        assert abs(np.bincount(row, minlength=3) / MANY - due).max() < 0.005


def test_a_class_of_probability_zero_is_never_drawn():
    logs = np.float32([[-np.inf, 0, -np.inf]])
    [y] = run_node("Multinomial", 22, {"x": logs}, {"sample_size": 1000}, {"Y": np.int32})
    assert set(y.flat) == {1}


@pytest.mark.parametrize("logs", [[[np.nan, 0]], [[-np.inf, -np.inf]], [[np.inf, 0]]])
def test_logarithms_of_no_distribution_are_refused(logs):
    with pytest.raises(interp.InterpError, match="logarithms"):
        run_node("Multinomial", 22, {"x": np.float32(logs)}, {"sample_size": 1}, {"Y": np.int32})


def test_bernoulli_draws_each_element_by_its_own_probability():
    p = np.repeat(np.float32([0, 0.2, 0.9, 1]), MANY // 4)
    [y] = run_node("Bernoulli", 22, {"x": p}, {"dtype": 9, "seed": 1.0}, {"Y": np.bool_})
    assert abs(y.reshape(4, -1).mean(1) - [0, 0.2, 0.9, 1]).max() < 0.01


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_probabilities_outside_of_zero_to_one_are_refused(p):
    with pytest.raises(interp.InterpError, match="probability"):
        run_node("Bernoulli", 22, {"x": np.float32([p])}, {}, {"Y": np.float32})


def test_a_seed_repeats_its_numbers_in_every_run_and_session_and_another_gives_others():
    one, again, other = (drawn("RandomNormal", {"seed": s}) for s in (1.5, 1.5, 1.25))
    assert (one == again).all() and (one != other).mean() > 0.99
    assert (drawn("RandomNormal", {}) != drawn("RandomNormal", {})).mean() > 0.99


def test_numbers_like_those_of_no_floating_point_type_need_a_type():
    with pytest.raises(interp.InterpError, match="floating-point"):
        run_node("RandomNormalLike", 22, {"x": np.zeros(3, np.int32)}, {}, {"Y": np.float32})


@pytest.mark.parametrize("case", DRAWS, ids=lambda c: c.name)
def test_official_draws_have_the_right_shape_type_and_distribution(case):
    model, [(inputs, [due]), *_] = model_and_sets(case)
    [y] = backend.prepare(model).run(inputs)
    assert y.shape == due.shape and y.dtype == due.dtype and set(np.unique(y)) <= {0, 1}
    many = [backend.prepare(model).run(inputs)[0] for _ in range(300)] if "seed" not in case.name else [y]
    chance = 1 - inputs[0] if "expanded" in case.name else inputs[0]  # that graph has 1 where a uniform number is above the input
    assert len(many) == 1 or abs(np.mean(many, 0) - chance).max() < 0.15


def test_there_are_official_draws():
    assert len(DRAWS) == 6
