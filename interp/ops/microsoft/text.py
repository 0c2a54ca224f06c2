"""Strings cut into tokens: Tokenizer."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dims import Fact, fresh
from ...kernels.tokens import Runs, tokens
from ...registry import op
from ..once import once
from ..patterns import characters, compiled, spans
from ..shapes import shape_of

BEGIN, END = "\x02", "\x03"  # what marks the ends of a text


@once
def cutter(separators: Any, tokenexp: str | None) -> Any:
    """A function from a string to its tokens: what the separators leave, or what matches the expression."""
    if not separators and not tokenexp:
        raise ValueError("one of separators and tokenexp is due")
    if tokenexp:
        token = compiled(tokenexp, True)
        return fast([tokenexp], False, lambda s: [s[a:b] for a, b in spans(token, s)])
    if "" in separators:
        return list
    between = [compiled(s, True) for s in separators]

    def cut(text: str) -> list[str]:
        parts = [text]
        for separator in between:
            parts = [piece for p in parts for piece in pieces(p, spans(separator, p))]
        return [p for p in parts if p]

    return fast(separators, True, cut)


def fast(patterns: Sequence[str], but: bool, slow: Any) -> Any:
    """What cuts as ``slow`` does, without expressions where all patterns are of one character: tokens, or ``but`` separators."""
    found = [f for p in patterns if (f := characters(p)) is not None]
    if len(found) < len(patterns) or len(found) > 1 and any(f.but for f in found):
        return slow
    alone = not but and not found[0].repeated
    return Runs("".join(f.letters for f in found), found[0].but != but, alone, slow)


def pieces(text: str, cuts: list[tuple[int, int]]) -> list[str]:
    """What lies between the parts that are cut out."""
    begins, ends = [0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(text)]
    return [text[a:b] for a, b in zip(begins, ends, strict=True)]


def _tokens(x: Fact, **_: Any) -> list[Any]:
    if len(shape_of(x)) not in (1, 2):
        raise ValueError(f"the input has the shape [C] or [N, C], not {list(shape_of(x))}")
    return [(*shape_of(x), fresh())]


@op("Tokenizer", domain="com.microsoft", signature="X: tensor(string) -> Y: tensor(string)", shape=_tokens, cells=True)
def tokenizer(x, *, mark, mincharnum, pad_value, separators=None, tokenexp=None, out):
    """The tokens of each string, no shorter than a number of characters, between marks if asked, filled up with a value.

    Separators are patterns that cut one after the other, an empty one cuts every character; or a pattern tells the tokens,
    the longest at the leftmost place.
    """
    if mincharnum < 1:
        raise ValueError(f"mincharnum is {mincharnum}, which must be positive")
    return tokens(x, cutter(separators, tokenexp), mincharnum, pad_value, (BEGIN, END) if mark else None, out)
