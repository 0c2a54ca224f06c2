"""Elementwise operators that passes put in the place of several: one loop, intermediate values stay in the cache."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels import chain as kernel
from ...kernels.step import Step
from ...registry import op
from ...types import FLOATS
from ..shapes import broadcast


@lru_cache(4096)
def calls(program: str, operands: int) -> tuple[tuple[str, int, int | None, float, float], ...]:
    """The calls of a program such as "mul(x0, x1); clip(t0, 0.0, 6.0)": x are the operands, t the results of earlier calls."""
    found = []
    for text in program.split(";"):
        name, _, inner = text.strip().removesuffix(")").partition("(")
        if not name.isidentifier() or not inner or not text.rstrip().endswith(")") or {*"()"} & {*inner}:
            raise ValueError(f"{text.strip()!r} is no call of a chain")
        registers, settings = [], []
        for argument in map(str.strip, inner.split(",")):
            if argument[0] in "xt" and argument[1:].isdigit():
                registers.append(int(argument[1:]) + (operands if argument[0] == "t" else 0))
            else:
                settings.append(float(argument))
        if not 1 <= len(registers) <= 2 or len(settings) > 2:
            raise ValueError(f"{text.strip()!r} has one or two registers, then up to two numbers")
        a, b = [*registers, None][:2]
        alpha, beta = [*settings, 0.0, 0.0][:2]
        found.append((name, a, b, alpha, beta))
    return tuple(found)  # type: ignore[arg-type]


def _chained(*x: Any, program: str) -> list[Any]:
    return broadcast(*x)


@op("Chain", domain="interp", signature="*x: T -> y: T", types={"T": FLOATS}, shape=_chained, inplace=(0, 1, 2, 3))
def chain(*x: np.ndarray, program: str, out: np.ndarray) -> Step:
    """A program of elementwise operations on operands that broadcast, as exact as the operations one by one."""
    return kernel.chain(calls(program, len(x)), x, out)
