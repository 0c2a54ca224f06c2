"""Random numbers, of NumPy's Generator. The same seed gives the same numbers, run after run; without one each run has its own."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Fact
from ..registry import op
from ..types import DTYPE, FLOATS, OF_CODE, OF_DTYPE
from .shapes import shape_of

UNSEEDED: list[np.random.Generator] = []  # what operators without a seed draw from, where that was said


def generator(seed: float | None) -> np.random.Generator:
    """A source of random numbers; any float is a seed of its own."""
    if seed is None and UNSEEDED:
        return UNSEEDED[0]
    return np.random.default_rng(None if seed is None else int(np.float32(seed).view(np.uint32)))


def reseed(seed: int | None) -> None:
    """Let operators that have no seed of their own share a source with this one; None: new numbers in every run, again."""
    UNSEEDED[:] = [] if seed is None else [np.random.default_rng(abs(seed))]


def kind_of(x: Any, dtype: int | None) -> str:
    """The type that the attribute asks for, else the input's; it must be one of floating-point numbers."""
    kind = OF_CODE.get(dtype) if dtype else x.type if isinstance(x, Fact) else OF_DTYPE[x.dtype]
    if kind not in FLOATS:
        raise ValueError(f"random numbers are of a floating-point type, not {kind}; the attribute dtype chooses one")
    return kind


def _shaped(*, shape: Any, dtype: int, **_: Any) -> list[Any]:
    if min(shape, default=0) < 0:
        raise ValueError(f"the shape {list(shape)} has a size below 0")
    return [Fact(kind_of(None, dtype), tuple(shape))]


def _like(x: Fact, *, dtype: int | None, **_: Any) -> list[Any]:
    return [Fact(kind_of(x, dtype), x.shape)]


def normal(shape: Any, kind: str, mean: float, scale: float, seed: float | None) -> np.ndarray:
    return generator(seed).normal(mean, scale, shape).astype(DTYPE[kind])


def uniform(shape: Any, kind: str, low: float, high: float, seed: float | None) -> np.ndarray:
    """Numbers from `low` on, below `high`: rounding to the type does not reach it."""
    dtype = DTYPE[kind]
    drawn = generator(seed).uniform(low, high, shape).astype(dtype)
    below = np.nextafter(dtype.type(high), dtype.type(low))
    return np.where(drawn >= dtype.type(high), below, drawn) if low < high else drawn


@op("RandomNormal", 1, 22, shape=_shaped)
def random_normal(*, shape, dtype, mean, scale, seed):
    """Numbers from a normal distribution."""
    return normal(shape, kind_of(None, dtype), mean, scale, seed)


@op("RandomNormalLike", 1, 22, shape=_like)
def random_normal_like(input, *, dtype, mean, scale, seed):
    """Numbers from a normal distribution, as many as the input has."""
    return normal(input.shape, kind_of(input, dtype), mean, scale, seed)


@op("RandomUniform", 1, 22, shape=_shaped)
def random_uniform(*, shape, dtype, low, high, seed):
    """Numbers that are evenly spread between two limits."""
    return uniform(shape, kind_of(None, dtype), low, high, seed)


@op("RandomUniformLike", 1, 22, shape=_like)
def random_uniform_like(input, *, dtype, low, high, seed):
    """Numbers that are evenly spread between two limits, as many as the input has."""
    return uniform(input.shape, kind_of(input, dtype), low, high, seed)


def _thrown(x: Fact, *, dtype: int | None, seed: float | None) -> list[Any]:
    return [Fact(OF_CODE[dtype] if dtype else x.type, x.shape)]


@op("Bernoulli", 15, 22, shape=_thrown)
def bernoulli(input, *, dtype, seed):
    """1 with the probability that the input gives, else 0."""
    chance = input.astype(np.float64)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("a probability lies outside of 0 to 1")
    return (generator(seed).random(input.shape) < chance).astype(DTYPE[OF_CODE[dtype]] if dtype else input.dtype)


def _sampled(x: Fact, *, dtype: int, sample_size: int, seed: float | None) -> list[Any]:
    if len(shape_of(x)) != 2:
        raise ValueError(f"the input has the shape [batch, classes], not {list(shape_of(x))}")
    if sample_size < 0:
        raise ValueError(f"sample_size is {sample_size}")
    return [Fact(OF_CODE[dtype], (shape_of(x)[0], sample_size))]


@op("Multinomial", 7, 22, shape=_sampled)
def multinomial(input, *, dtype, sample_size, seed):
    """Classes, drawn again and again from logarithms of probabilities that need no common scale."""
    logs = input.astype(np.float64)
    if sample_size and not logs.shape[1]:
        raise ValueError("there is no class to draw")
    with np.errstate(invalid="ignore"):
        chance = np.exp(logs - logs.max(1, keepdims=True, initial=-np.inf)).cumsum(1)
    if not np.isfinite(chance).all():
        raise ValueError("a row of logarithms has none that is finite, or one that is not a number or infinite")
    drawn = generator(seed).random((len(logs), sample_size)) * chance[:, -1:]
    found = [np.searchsorted(row, draw, "right") for row, draw in zip(chance, drawn, strict=True)]
    return np.array(found, DTYPE[OF_CODE[dtype]]).reshape(drawn.shape)
