"""Options that several commands take, and the kinds of their values. Nothing but argparse is imported here."""
from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from interp.cli.arguments import Parser

Group = argparse._ActionsContainer  # a parser, or a group of its options


def feeding(parser: Parser) -> None:
    """Where inputs come from."""
    group = parser.add_argument_group(
        "inputs", "A SPEC is a file (.npy, .npz:key, .pb, .png, .jpg, .json, .txt, .csv), zeros, ones, arange, rand[:LO:HI], "
        "f32[1,3,224,224], or a literal such as [1,2,3]. What is not given is made: *_mask is 1, *_ids is 0, the rest is random.")
    group.add_argument("-i", "--input", metavar="NAME=SPEC", action="append", default=[],
                       help="one input; NAME= may go where there is one")
    group.add_argument("--data", metavar="DIR|FILE.npz", help="inputs by name, or input_0.pb … of a test_data_set")
    sized(group)
    group.add_argument("--range", metavar="NAME=LO:HI", action="append", default=[], type=limits,
                       help="between what random inputs lie; without NAME= for all")
    group.add_argument("--seed", type=size, default=0, metavar="N", help="of random inputs (0)")
    group.add_argument("--resize", nargs="?", const=(), type=height_by_width, metavar="HxW",
                       help="scale images; without a size to the input's")
    group.add_argument("--layout", metavar="NCHW", type=layout,
                       help="the order of an image's axes, of N, C, H and W (read off the input)")
    group.add_argument("--mean", type=fractions, default=(0.0,), metavar="M[,M…]",
                       help="taken from pixels, which go from 0 to 1")
    group.add_argument("--std", type=fractions, default=(1.0,), metavar="S[,S…]",
                       help="what pixels are then divided by; 1/255 for pixels up to 255")


def executing(parser: Parser) -> None:
    """How the model runs."""
    group = parser.add_argument_group("running")
    group.add_argument("-n", "--runs", type=size, metavar="N", help="runs to time after the first")
    group.add_argument("--warmup", type=size, default=0, metavar="N", help="runs before those (0)")
    threads(group)
    group.add_argument("-O", "--optimize", type=int, choices=(0, 1, 2), default=2,
                       help="how far the graph is rewritten (2)")
    group.add_argument("--precision", choices=("exact",), help="no algorithm that trades accuracy for speed")
    opening(group)


def keeping(parser: Parser) -> None:
    """Which outputs are wanted, and where they go."""
    group = parser.add_argument_group("outputs")
    which = group.add_mutually_exclusive_group()
    which.add_argument("--outputs", metavar="NAME", nargs="+", action="extend", default=[],
                       help="these alone; tensors inside the graph too")
    which.add_argument("--all-tensors", action="store_true", help="every tensor that a node makes")
    group.add_argument("-o", "--output", metavar="FILE|DIR", type=target, help="save as .npz, as .npy, or as a folder of .npy")
    group.add_argument("--save-image", metavar="FILE.png|DIR", help="save the outputs that are images")
    group.add_argument("--print", choices=("summary", "full", "none"), default="summary",
                       help="how much of each output (summary)")
    group.add_argument("--topk", type=size, metavar="K", help="the K largest scores (5 where there is one row of them)")


def checking(parser: Parser) -> None:
    """What makes the exit code 1."""
    group = parser.add_argument_group("checks", "The exit code is 1 where one fails.")
    group.add_argument("--expect", metavar="FILE.npz|DIR", help="outputs by name, or output_0.pb … of a test_data_set")
    group.add_argument("--rtol", type=float, default=1e-3, metavar="R",
                       help="allowed difference, relative to what is expected (0.001)")
    group.add_argument("--atol", type=float, default=1e-7, metavar="A", help="allowed difference on top of that (1e-7)")
    group.add_argument("--check-nan", action="store_true",
                       help="fail where an output holds NaN, and name the node it comes from")
    group.add_argument("--check-finite", action="store_true", help="the same for infinity, too")


def reporting(parser: Parser) -> None:
    """What `run` says, and how."""
    group = telling(parser, more="also the inputs' values and the time of every run")
    group.add_argument("-p", "--profile", action="store_true", help="also what nodes and operators take, as interp profile does")
    group.add_argument("--trace", metavar="F.json", type=target,
                       help="write observed runs as trace events, for Chrome and Perfetto")


def looking(parser: Parser) -> None:
    """How a model is read that is looked at and not run."""
    group = parser.add_argument_group("reading")
    sized(group)
    opening(group)


def telling(parser: Parser, *, json: bool = True, quiet: bool = True, more: str = "") -> argparse._ArgumentGroup:
    """What every command says, and how; ``more`` is what a verbose one adds. The group, for what it says besides."""
    group = parser.add_argument_group("reporting")
    if json:
        group.add_argument("--json", metavar="FILE", type=target, help="a JSON report on stdout, or with --json=FILE in a file")
    loud = group.add_mutually_exclusive_group() if more else group
    if quiet:
        loud.add_argument("-q", "--quiet", action="store_true", help="no notices, no progress")
    if more:
        loud.add_argument("-v", "--verbose", action="store_true", help=more)
    group.add_argument("--traceback", action="store_true", help="show where in this package an error arose")
    return group


def sized(group: Group) -> None:
    """What sizes are where a model leaves them open."""
    group.add_argument("-d", "--dim", metavar="DIM=N", action="append", default=[], type=assigned(size),
                       help="the size that a name stands for")
    group.add_argument("--shape", metavar="NAME=1,3,224,224", action="append", default=[], type=assigned(sizes),
                       help="the shape of an input")


def opening(group: Group) -> None:
    """What a model may need beside its file."""
    kernels(group)
    group.add_argument("--trusted", metavar="DIR", action="append", default=[],
                       help="a further folder that weights may be read from")


def kernels(group: Group) -> None:
    """Operators beside the standard ones."""
    group.add_argument("--kernels", metavar="MODULE|FILE.py", action="append", default=[],
                       help="add the operators that a module holds")


def threads(group: Group) -> None:
    """How many threads run a model."""
    group.add_argument("-t", "--threads", type=size, metavar="N", help="threads (as many as there are cores)")


def target(text: str) -> str:
    """A file to write, in a folder that is there; folders of outputs are made, and - is standard output."""
    folder = os.path.dirname(text)
    if folder and not os.path.isdir(folder) and os.path.splitext(text)[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: there is no folder {folder}")
    return text


def size(text: str) -> int:
    """A whole number, 0 or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def amount(text: str) -> int:
    """Bytes: 4096, 16K, 1M, 2G."""
    scale = {"K": 2**10, "M": 2**20, "G": 2**30}.get(text[-1:].upper())
    if not (text[:-1] if scale else text).isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes such as 4096, 16K or 1M")
    return int(text[:-1]) * scale if scale else int(text)


def sizes(text: str) -> tuple[int, ...]:
    """1,3,224,224 or 1x3x224x224; nothing for a scalar."""
    return tuple(size(part) for part in text.strip("[]").replace("x", ",").split(",") if part)


def height_by_width(text: str) -> tuple[int, ...]:
    found = sizes(text) if text.replace("x", "").replace(",", "").isdecimal() else ()
    if len(found) != 2 or 0 in found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 224x224")
    return found


def assigned(kind: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    """NAME=VALUE; names may hold anything, so the last = divides."""
    def read(text: str) -> tuple[str, Any]:
        name, given, value = text.rpartition("=")
        if not given:
            raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
        return name, kind(value)
    return read


def limits(text: str) -> tuple[str | None, tuple[float, float]]:
    """NAME=LO:HI or LO:HI."""
    name, given, pair = text.rpartition("=")
    return (name if given else None), low_high(pair)


def low_high(text: str) -> tuple[float, float]:
    """LO:HI."""
    try:
        low, high = map(float, text.split(":"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form LO:HI") from None
    if not low <= high:
        raise argparse.ArgumentTypeError(f"{text}: the low end comes first")
    if not high - low < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is too wide")
    return low, high


def layout(text: str) -> str:
    axes = text.upper()
    if not ({"H", "W"} <= set(axes) <= set("NCHW") and len(set(axes)) == len(axes)):
        raise argparse.ArgumentTypeError(f"{text!r} is not an order of axes such as NCHW, NHWC or HW")
    return axes


def fractions(text: str) -> tuple[float, ...]:
    """0.5 or 0.485,0.456,0.406 or 1/255."""
    found = []
    for part in text.split(","):
        over, _, under = part.partition("/")
        try:
            found.append(float(over) / float(under or 1))
        except (ValueError, ZeroDivisionError):
            raise argparse.ArgumentTypeError(f"{part!r} is not a number") from None
    return tuple(found)
