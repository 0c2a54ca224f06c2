"""Layer normalization of what was added up before: skip connections, biases, embeddings."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels import standardize
from ...kernels.step import Later
from ...registry import op
from ...types import FLOATS, tensors
from .. import standardize as layers
from ..shapes import axis_of, shape_of, widest
from ..standardize import fill
from .activation import MICROSOFT

SKIPPED = "input: T, skip: T, gamma: T, beta?: T, bias?: T -> output: T, mean?: U, inv_std_var?: U, input_skip_bias_sum?: T"
SIMPLY = "input: T, skip: T, gamma: T, bias?: T -> output: T, mean?: U, inv_std_var?: U, input_skip_bias_sum?: T"
TYPES = {"T": FLOATS, "U": tensors("float")}


def _simplified(X: Fact, scale: Fact, *, axis: int, **_: Any) -> list[Any]:
    shape = shape_of(X)
    at = axis_of(axis, len(shape))
    return [Fact(scale.type, shape), Fact("tensor(double)" if X.type == "tensor(double)" else "tensor(float)",
                                          (*shape[:at], *(1,) * (len(shape) - at)))]


@op("SimplifiedLayerNormalization", signature="X: T, scale: V -> Y: V, inv_std_var?: U", shape=_simplified,
    types={"T": FLOATS, "V": FLOATS, "U": tensors("float", "double")})
def simplified_layer_normalization(X, scale, *, axis=-1, epsilon=1e-5, stash_type=1, out):
    """RMSNormalization, as onnxruntime had it before the standard; it may show one over the root."""
    y, spread = [*out, None][:2]
    if spread is None:
        return layers.rms_normalization.run(X, scale, axis=axis, epsilon=epsilon, stash_type=stash_type, out=y)
    return Later(partial(_rms, axis_of(axis, X.ndim), epsilon), X, scale, y, spread)


def _rms(at: int, epsilon: float, x: np.ndarray, scale: np.ndarray, y: np.ndarray | None, spread: np.ndarray) -> None:
    wide = x.astype(np.float64)
    over = 1 / np.sqrt(np.square(wide).mean(tuple(range(at, x.ndim)), keepdims=True) + epsilon)
    fill(spread, over)
    fill(y, wide * over * scale.astype(np.float64))


def _skipped(x: Fact, skip: Fact, gamma: Fact, *rest: Fact | None, **_: Any) -> list[Any]:
    shape = shape_of(x)
    if len(shape) not in (2, 3):
        raise ValueError(f"the input has 2 or 3 dimensions, not {len(shape)}")
    for part in (skip, gamma, *rest):
        if part is not None and any(isinstance(a, int) and isinstance(b, int) and a != b
                                    for a, b in zip(widest([shape, shape_of(part)]), shape, strict=True)):
            raise ValueError(f"{part.shape} does not broadcast to {shape}")
    for part in (gamma, *rest):
        if part is not None and len(shape_of(part)) != 1:
            raise ValueError(f"gamma, beta and bias have 1 dimension, not {part.shape}")
    statistics = (*shape[:-1], 1)
    return [shape, statistics, statistics, shape]


@op("SkipLayerNormalization", domain=MICROSOFT, signature=SKIPPED, types=TYPES, shape=_skipped)
def skip_layer_normalization(input, skip, gamma, beta=None, bias=None, *, epsilon=1e-12, out):
    """LayerNormalization of the input, the skip connection and a bias together."""
    return Later(partial(_sum, epsilon, True), input, skip, bias, gamma, beta, *[*out, None, None, None][:4])


@op("SkipSimplifiedLayerNormalization", domain=MICROSOFT, signature=SIMPLY, types=TYPES, shape=_skipped)
def skip_simplified_layer_normalization(input, skip, gamma, bias=None, *, epsilon=1e-12, out):
    """RMSNormalization of the input, the skip connection and a bias together."""
    return Later(partial(_sum, epsilon, False), input, skip, bias, gamma, None, *[*out, None, None, None][:4])


def _sum(epsilon: float, centered: bool, x: np.ndarray, skip: np.ndarray, bias: np.ndarray | None, gamma: np.ndarray,
         beta: np.ndarray | None, y: np.ndarray | None, mean: np.ndarray | None, spread: np.ndarray | None,
         total: np.ndarray | None) -> None:
    wide = np.float64 if x.dtype == np.float64 else np.float32
    found = x.astype(wide) + skip.astype(wide)
    if bias is not None:
        found += bias.astype(wide)
    fill(total, found)
    normalized(found, gamma, beta, epsilon, y, mean, spread, centered)


def normalized(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray | None, epsilon: float, y: np.ndarray | None,
               mean: np.ndarray | None = None, spread: np.ndarray | None = None, centered: bool = True) -> None:
    """Standardize the rows of a wide array, which it may overwrite, into a result of any type."""
    if not x.size:
        return
    made = y if y is not None and y.dtype == x.dtype else x
    standardize.rows(x, gamma.astype(x.dtype), None if beta is None else beta.astype(x.dtype), made, mean, spread, n=x.shape[-1],
                     epsilon=epsilon, centered=centered)()
    if made is x:
        fill(y, x)


# Embeddings

EMBEDDED = ("input_ids: T1, segment_ids?: T1, word_embedding: T, position_embedding: T, segment_embedding?: T, gamma: T, "
            "beta: T, mask?: T1, position_ids?: T1 -> output: T, mask_index?: T1, embedding_sum?: T")


def _embedded(ids: Fact, segments: Fact | None, word: Fact, position: Fact, *_: Any, mask_index_type: int,
              **__: Any) -> list[Any]:
    if len(shape_of(ids)) != 2 or len(shape_of(word)) != 2 or len(shape_of(position)) != 2:
        raise ValueError("input_ids and the embeddings have 2 dimensions")
    if mask_index_type not in (0, 1):
        raise ValueError(f"mask_index_type is 0 or 1, not {mask_index_type}")
    (batch, rows), size = shape_of(ids), shape_of(word)[1]
    return [(batch, rows, size), (batch,), (batch, rows, size)]


@op("EmbedLayerNormalization", domain=MICROSOFT, signature=EMBEDDED, shape=_embedded,
    types={"T": tensors("float", "float16"), "T1": tensors("int32")})
def embed_layer_normalization(input_ids, segment_ids, word_embedding, position_embedding, segment_embedding, gamma, beta,
                              mask=None, position_ids=None, *, epsilon=1e-12, mask_index_type=0, out):
    """LayerNormalization of the embeddings of words, positions and segments; mask_index counts the ones in each mask."""
    return Later(partial(_embed, epsilon), input_ids, segment_ids, word_embedding, position_embedding, segment_embedding, gamma,
                 beta, mask, position_ids, *[*out, None, None][:3])


def _embed(epsilon: float, ids: np.ndarray, segments: np.ndarray | None, word: np.ndarray, position: np.ndarray,
           segment: np.ndarray | None, gamma: np.ndarray, beta: np.ndarray, mask: np.ndarray | None, places: np.ndarray | None,
           y: np.ndarray | None, mask_index: np.ndarray | None, total: np.ndarray | None) -> None:
    for name, given, rows in (("segment_ids", segments, ids.shape[:1]), ("mask", mask, ids.shape[:1]),
                              ("position_ids", places, (1, len(ids)))):
        if given is not None and not (given.ndim == 2 and given.shape[0] in rows and given.shape[1] == ids.shape[1]):
            raise ValueError(f"{name} of shape {given.shape} beside input_ids of shape {ids.shape}")
    if segment is not None and segment.shape[1:] != word.shape[1:]:
        raise ValueError(f"segment_embedding of shape {segment.shape} beside a word_embedding of shape {word.shape}")
    places = np.arange(ids.shape[1]) if places is None else places
    found = _picked(word, ids, "input_ids").astype(np.float32) + _picked(position, places, "position_ids").astype(np.float32)
    if segments is not None and segment is not None:
        found = found + _picked(segment, segments, "segment_ids").astype(np.float32)
    fill(total, found)
    if mask_index is not None:
        mask_index[...] = 0 if mask is None else (mask == 1).sum(1)
    normalized(found, gamma, beta, epsilon, y)


def _picked(table: np.ndarray, ids: np.ndarray, name: str) -> np.ndarray:
    if ids.size and not 0 <= ids.min() <= ids.max() < len(table):
        raise ValueError(f"{name} {ids.min()} to {ids.max()} are outside of an embedding of {len(table)}")
    return table[ids]
