"""Strings: RegexFullMatch, StringConcat, StringNormalizer, StringSplit, TfIdfVectorizer."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..dims import Fact, fresh, larger
from ..kernels.grams import Grams, counts
from ..kernels.program import Cell
from ..kernels.tokens import normalised
from ..registry import op
from .once import once
from .patterns import compiled, matches
from .shapes import broadcast, same, shape_of

TURKISH = ("tr", "az")  # languages where i and I are two letters, each with a case of its own


def strings(x: np.ndarray) -> np.ndarray:
    """An array of Python strings, also where NumPy's own come."""
    return x if x.dtype == object else x.astype(object)


def each(fn: Any, x: np.ndarray, dtype: Any = object) -> np.ndarray:
    """What a function makes of every string."""
    y = np.empty(x.size, dtype)
    y[:] = [fn(s) for s in x.ravel().tolist()]
    return y.reshape(x.shape)


# RegexFullMatch

@op("RegexFullMatch", 20, 20, shape=same)
def regex_full_match(x, *, pattern):
    """Whether a pattern in RE2's syntax matches the whole of each string."""
    if pattern is None:
        raise ValueError("pattern is not given")
    return each(partial(matches, compiled(pattern)), x, bool)


# StringConcat

@op("StringConcat", 20, 20, shape=broadcast)
def string_concat(x, y):
    """The strings of one after those of the other, with broadcasting."""
    return np.asarray(np.add(strings(x), strings(y), dtype=object), object)  # NumPy takes the string out of a lone one


# StringNormalizer

def _kept(x: Fact, *, stopwords: Any, **_: Any) -> list[Any]:
    shape = shape_of(x)
    if len(shape) not in (1, 2) or len(shape) == 2 and shape[0] != 1 and isinstance(shape[0], int):
        raise ValueError(f"the input has the shape [C] or [1, C], not {list(shape)}")
    return [(*(1,) * (len(shape) - 1), fresh() if stopwords else larger(shape[-1], 1))]


def lowered(s: str, turkish: bool) -> str:
    return (s.replace("I", "ı").replace("İ", "i") if turkish else s).lower()


def uppered(s: str, turkish: bool) -> str:
    return (s.replace("i", "İ") if turkish else s).upper()


@op("StringNormalizer", 10, 10, shape=_kept, cells=True)
def string_normalizer(x, *, case_change_action, is_case_sensitive, locale, stopwords, out):
    """What is left without the stopwords, in another case if asked; one empty string where nothing is left.

    Case follows Unicode, as does that of stopwords where it does not matter; of locales, Turkish and Azeri differ.
    """
    if case_change_action not in ("NONE", "LOWER", "UPPER"):
        raise ValueError(f"case_change_action is {case_change_action}; it is one of LOWER, UPPER, NONE")
    turkish = (locale or "").lower().startswith(TURKISH)
    lower = partial(lowered, turkish=True) if turkish else str.lower
    upper = partial(uppered, turkish=True) if turkish else str.upper
    fold = None if is_case_sensitive else lower
    stops = frozenset(stopwords or () if fold is None else map(fold, stopwords or ()))
    return normalised(x, stops, fold, {"NONE": None, "LOWER": lower, "UPPER": upper}[case_change_action], out)


# StringSplit

@op("StringSplit", 20, 20, shape=lambda x, **_: [(*shape_of(x), fresh()), x.shape])
def string_split(x, *, delimiter, maxsplit):
    """The parts of each string between delimiters or white space, filled up with empty strings; and how many there are."""
    most = -1 if maxsplit is None else maxsplit
    parts = [s.split(delimiter, most) if delimiter else s.strip().split(None, most) for s in x.ravel().tolist()]
    counts = np.array([len(p) for p in parts], np.int64)
    y = np.full((x.size, max(counts, default=0)), "", object)
    for row, found in zip(y, parts, strict=True):
        row[:len(found)] = found
    return y.reshape(*x.shape, y.shape[1]), counts.reshape(x.shape)


# TfIdfVectorizer

class Pool:
    """The n-grams that are counted: those of each length, the coordinate of each, and its weight."""

    def __init__(self, items: Any, counts: Any, indexes: Any, weights: Any, shortest: int, longest: int):
        bounds = [*counts, len(items)]
        if not 1 <= shortest <= longest or counts[:1] != (0,) or sorted(bounds) != bounds:
            raise ValueError(f"n-grams of {shortest} to {longest} items begin at {list(counts)} of {len(items)}")
        self.size = max(indexes, default=-1) + 1
        self.grams: dict[int, dict[tuple[Any, ...], int]] = {}
        seen = 0
        for n, (begin, end) in enumerate(zip(bounds, bounds[1:], strict=False), 1):
            if (end - begin) % n:
                raise ValueError(f"{end - begin} items are no {n}-grams")
            grams = [items[i:i + n] for i in range(begin, end, n)]
            if shortest <= n <= longest:
                self.grams[n] = dict(zip(grams, range(seen, seen + len(grams)), strict=True))
            seen += len(grams)
        if seen != len(indexes) or weights and len(weights) != seen or min(indexes, default=0) < 0:
            raise ValueError(f"{len(indexes)} indexes from 0 on and {len(weights or indexes)} weights for {seen} n-grams")
        weight, index = np.array(weights or [1] * seen, np.float32), np.array(indexes, np.int64)
        self.counted = Grams({g: k for n in self.grams.values() for g, k in n.items()}, index, weight, self.size)


@once
def pool(ints: Any, texts: Any, begins: Any, indexes: Any, weights: Any, shortest: int, longest: int) -> Pool:
    if bool(ints) == bool(texts):
        raise ValueError("one of pool_int64s and pool_strings is due")
    return Pool(ints or texts, begins, indexes, weights, shortest, longest)


def _counts(x: Fact, *, ngram_indexes: Any, **_: Any) -> list[Any]:
    shape = shape_of(x)
    if len(shape) not in (1, 2):
        raise ValueError(f"the input has the shape [C] or [N, C], not {list(shape)}")
    return [(*shape[:-1], max(ngram_indexes, default=-1) + 1)]


@op("TfIdfVectorizer", 9, 9, shape=_counts, cells=True)
def tfidf_vectorizer(x, *, max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts, ngram_indexes, pool_int64s,
                     pool_strings, weights, out):
    """How often each row has each n-gram of a pool, at the coordinates given: TF counts, IDF weights, TFIDF weighted counts.

    The i-th weight is the i-th n-gram's, as the text says; onnxruntime takes it for the i-th coordinate's.
    """
    if max_skip_count < 0:
        raise ValueError(f"max_skip_count is {max_skip_count}; it must be at least 0")
    grams = pool(pool_int64s, pool_strings, ngram_counts, ngram_indexes, weights, min_gram_length, max_gram_length)
    if isinstance(x, Cell) == bool(pool_int64s):
        raise ValueError(f"pool_{'strings' if isinstance(x, Cell) else 'int64s'} is due")
    return counts(x, grams.counted, max_skip_count, mode, out)
