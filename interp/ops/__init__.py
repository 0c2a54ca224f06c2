"""Operators, a file a family; `standard` has them all."""
from importlib import import_module

from ..registry import Registry, ops_of

FAMILIES: tuple[str, ...] = (
    "activation",
    "bits",
    "cast",
    "control",
    "conv",
    "elementwise",
    "gather",
    "generate",
    "layout",
    "loss",
    "matmul",
    "normalization",
    "pool",
    "random",
    "recurrent",
    "reduce",
    "resize",
    "roi",
    "scan",
    "sequence",
    "signal",
    "training",
    "trigonometry",
    "view",
)

standard = Registry()
for family in FAMILIES:
    standard.add(*ops_of(import_module(f".{family}", __name__)))
