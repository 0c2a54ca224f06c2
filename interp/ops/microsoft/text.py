"""Strings cut into tokens: Tokenizer."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact, fresh
from ...registry import op
from ..once import once
from ..patterns import compiled, spans
from ..shapes import shape_of

BEGIN, END = "\x02", "\x03"  # what marks the ends of a text


@once
def cutter(separators: Any, tokenexp: str | None) -> Any:
    """A function from a string to its tokens: what the separators leave, or what matches the expression."""
    if not separators and not tokenexp:
        raise ValueError("one of separators and tokenexp is due")
    if tokenexp:
        token = compiled(tokenexp, True)
        return lambda s: [s[a:b] for a, b in spans(token, s)]
    if "" in separators:
        return list
    between = [compiled(s, True) for s in separators]

    def cut(text: str) -> list[str]:
        parts = [text]
        for separator in between:
            parts = [piece for p in parts for piece in pieces(p, spans(separator, p))]
        return parts

    return cut


def pieces(text: str, cuts: list[tuple[int, int]]) -> list[str]:
    """What lies between the parts that are cut out."""
    begins, ends = [0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(text)]
    return [text[a:b] for a, b in zip(begins, ends, strict=True)]


def _tokens(x: Fact, **_: Any) -> list[Any]:
    if len(shape_of(x)) not in (1, 2):
        raise ValueError(f"the input has the shape [C] or [N, C], not {list(shape_of(x))}")
    return [(*shape_of(x), fresh())]


@op("Tokenizer", domain="com.microsoft", signature="X: tensor(string) -> Y: tensor(string)", shape=_tokens)
def tokenizer(x, *, mark, mincharnum, pad_value, separators=None, tokenexp=None):
    """The tokens of each string, no shorter than a number of characters, between marks if asked, filled up with a value.

    Separators are patterns that cut one after the other, an empty one cuts every character; or a pattern tells the tokens,
    the longest at the leftmost place.
    """
    if mincharnum < 1:
        raise ValueError(f"mincharnum is {mincharnum}, which must be positive")
    cut = cutter(separators, tokenexp)
    found = [[t for t in cut(s) if len(t) >= mincharnum] for s in x.ravel().tolist()]
    longest = max(map(len, found), default=0)
    if longest and mark:
        found, longest = [[BEGIN, *f, END] for f in found], longest + 2
    y = np.full((x.size, longest), pad_value, object)
    for row, tokens in zip(y, found, strict=True):
        if longest:
            row[:len(tokens)] = tokens
    return y.reshape(*x.shape, longest)
