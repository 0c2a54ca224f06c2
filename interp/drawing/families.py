"""Which family an operator belongs to, and the colours of families."""
from __future__ import annotations

from dataclasses import dataclass

from ..registry import Op

OPS = "interp.ops."


@dataclass(frozen=True)
class Colour:
    """A family's colours, on light and on dark paper, each with white text readable on it, and its name in a terminal."""

    light: str
    dark: str
    terminal: str


COLOURS = {
    "convolution": Colour("#2f6fb3", "#3776bb", "blue"),
    "matrix": Colour("#5b53b8", "#6a62c9", "bright_blue"),
    "activation": Colour("#a8442f", "#b5503a", "red"),
    "elementwise": Colour("#5a6572", "#5f6b79", "white"),
    "pooling": Colour("#2c7a51", "#32855a", "green"),
    "normalization": Colour("#1f7480", "#267f8c", "cyan"),
    "layout": Colour("#8a5a16", "#96651f", "yellow"),
    "attention": Colour("#93388f", "#a0449c", "magenta"),
    "recurrent": Colour("#a13565", "#ad4171", "bright_magenta"),
    "quantization": Colour("#5c6b1c", "#667626", "bright_yellow"),
    "control": Colour("#333c4a", "#4a5464", "bright_white"),
    "trees and text": Colour("#6b4a35", "#7a5842", "bright_red"),
    "other": Colour("#6f6a64", "#77726c", "bright_black"),
    "input": Colour("#3d4148", "#555a63", "bold"),
    "output": Colour("#3d4148", "#555a63", "bold"),
}
# The module that declares an operator tells its family.
MODULES = {
    "convolution": "conv fused.conv fused.blocked fused.blocked_resize fused.line fused.plain_conv fused.transpose",
    "matrix": "matmul matrix einsum integer fused.matmul microsoft.matmul",
    "activation": "activation microsoft.activation",
    "elementwise": "elementwise bits cast trigonometry fused.chain fused.table generate random",
    "pooling": "pool reduce roi image resize order",
    "normalization": "normalization standardize microsoft.normalization loss training",
    "layout": "layout gather scatter pad view",
    "attention": "attention linear_attention rotary fused.attention microsoft.attention microsoft.grouped",
    "recurrent": "recurrent scan signal microsoft.recurrent",
    "quantization": "quantize fused.quantized microsoft.quantized microsoft.quantized_matmul microsoft.quantized_pool",
    "control": "control sequence",
    "trees and text": "text ml.encoders ml.linear ml.maps ml.scaling ml.trees microsoft.text",
}
FAMILY = {module: family for family, modules in MODULES.items() for module in modules.split()}


def family_of(op: Op) -> str:
    """The family of an operator; "other" for those of users and for those that nothing runs."""
    module = op.run.__module__
    return FAMILY.get(module.removeprefix(OPS), "other") if module.startswith(OPS) else "other"
