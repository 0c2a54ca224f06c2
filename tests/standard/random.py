"""Random numbers: their shape, type and limits, and that a seed repeats them. tests/test_random.py has their distributions."""
import numpy as np

from .case import Case, case
from .signal import code_of

SHAPE = (40, 50)


def seeded(inputs, due, lies, **attributes):
    """A case for a random operator with a seed: of the right shape, within limits, neither constant nor new in another run."""
    runs = []

    def check(y):
        assert y.shape == due and lies(y.astype(float)) and (y.astype(float) != y.astype(float).flat[0]).any()
        runs.append(y)
        assert all((y == other).all() for other in runs)
    return Case(inputs, [np.zeros(due)], check=check, seed=7.5, **attributes)


@case("RandomNormal")
def random_normal(spec):
    return seeded([], SHAPE, lambda y: abs(y.mean() - 3) < 0.5 and 1.7 < y.std() < 2.3, shape=SHAPE, mean=3.0, scale=2.0,
                  dtype=code_of(spec.dtype("T")))


@case("RandomUniform")
def random_uniform(spec):
    return seeded([], SHAPE, lambda y: y.min() >= -1 and y.max() < 3 and abs(y.mean() - 1) < 0.2, shape=SHAPE, low=-1.0,
                  high=3.0, dtype=code_of(spec.dtype("T")))


@case("RandomNormalLike")
def random_normal_like(spec):
    return seeded([spec.data(SHAPE, "T1")], SHAPE, lambda y: abs(y.mean() - 3) < 0.5 and 1.7 < y.std() < 2.3, mean=3.0,
                  scale=2.0, dtype=code_of(spec.dtype("T2")))


@case("RandomUniformLike")
def random_uniform_like(spec):
    return seeded([spec.data(SHAPE, "T1")], SHAPE, lambda y: y.min() >= -1 and y.max() < 3, low=-1.0, high=3.0,
                  dtype=code_of(spec.dtype("T2")))


@case("Bernoulli")
def bernoulli(spec):
    chance = np.full(SHAPE, 0.25, spec.dtype("T1"))
    return seeded([chance], SHAPE, lambda y: set(y.flat) == {0, 1} and 0.2 < y.mean() < 0.3,
                  dtype=code_of(spec.dtype("T2")))


@case("Multinomial")
def multinomial(spec):
    logs = np.log([[0.1, 0.2, 0.7], [5, 10, 35]]).astype(spec.dtype("T1"))
    return seeded([logs], (2, 1000), lambda y: abs((y == 2).mean() - 0.7) < 0.05 and set(y.flat) == {0, 1, 2},
                  sample_size=1000, dtype=code_of(spec.dtype("T2")))
