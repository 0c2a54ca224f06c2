"""Operators, a file a family; `standard` has them all."""
from importlib import import_module

from ..registry import Registry, ops_of

FAMILIES: tuple[str, ...] = (
    "activation",
    "attention",
    "bits",
    "cast",
    "control",
    "conv",
    "einsum",
    "elementwise",
    "gather",
    "generate",
    "gradient",
    "image",
    "integer",
    "layout",
    "linear_attention",
    "loss",
    "matmul",
    "matrix",
    "microsoft.activation",
    "microsoft.attention",
    "microsoft.grouped",
    "microsoft.matmul",
    "microsoft.normalization",
    "microsoft.quantized",
    "microsoft.quantized_matmul",
    "microsoft.quantized_pool",
    "microsoft.recurrent",
    "ml.linear",
    "ml.trees",
    "normalization",
    "order",
    "pad",
    "pool",
    "quantize",
    "random",
    "recurrent",
    "reduce",
    "resize",
    "roi",
    "rotary",
    "scan",
    "scatter",
    "sequence",
    "signal",
    "standardize",
    "training",
    "trigonometry",
    "view",
)

standard = Registry()
for family in FAMILIES:
    standard.add(*ops_of(import_module(f".{family}", __name__)))
