"""What each command takes. Nothing but argparse is imported here, so that help and mistakes answer at once."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from interp.errors import UsageError, nearest, nearest_or_all

TYPE_CHECKING = False  # for type checkers it is true
if TYPE_CHECKING:
    from typing import Any, NoReturn

SUMMARY = """\
examples:
  interp model.onnx                                  run on random inputs, print what comes out
  interp model.onnx -i image=cat.png --resize        read an image, scaled to the size of the input
  interp model.onnx --data test_data_set_0 --expect test_data_set_0
  interp ops model.onnx                              the operators of a model, and what runs them

A first word that is no command is a model: `interp model.onnx` is `interp run model.onnx`.
`interp COMMAND --help` has the options of each.

"""
COMMANDS = {  # as help lists them; syntax/NAME.py says what each takes, NAME.py beside this file does it
    "run": "run a model: the command where none is named",
    "info": "what is in a model: inputs, outputs, operators, parameters, MACs, memory",
    "check": "is a model valid, what is odd in it, can this package run it",
    "ops": "which operators there are, and what runs those of a model",
    "profile": "where the time of a run goes: nodes, operators, memory, a trace",
    "bench": "how long runs take: percentiles, throughput, beside another engine",
    "compare": "hold a model against another engine, another model, or itself as written",
    "debug": "which node makes the first NaN or infinity, and from what",
    "optimize": "write a model that gives the same and does less, in standard ONNX",
    "extract": "write the part of a model between some tensors",
    "draw": "a picture of a graph: text, DOT, SVG, or one HTML file",
    "plugins": "which plug-ins are installed, and what is in them",
    "env": "versions, processor, threads, memory, settings: for reports of bugs",
    "completion": "a script that completes commands and options in a shell",
}


class Parser(argparse.ArgumentParser):
    """argparse, with examples before everything else and mistakes as errors of this package."""

    examples = ""

    def format_help(self) -> str:
        return self.examples + super().format_help()

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help lists what there is")


def visible(text: str) -> str:
    """A text whose control characters are escaped, so that a model's names cannot drive a terminal."""
    return "".join(c if c.isprintable() or c in " \n\t" else c.encode("unicode_escape").decode() for c in text)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; `.command` is its name."""
    words = ["--json=-" if w == "--json" else w for w in words]
    if not words or words[0] in ("-h", "--help", "--version") or words[0] in COMMANDS:
        name, rest = (words[0], words[1:]) if words else ("--help", [])
    else:
        name, rest = "run", list(words)
    if name not in COMMANDS:
        top().parse_args([name])
    parser = Parser(prog=f"interp {name}", allow_abbrev=False)
    syntax = import_module(f"interp.cli.syntax.{name}")
    parser.examples = syntax.EXAMPLES
    syntax.arguments(parser)
    args, unknown = parser.parse_known_args(rest)
    if unknown:
        options = [o for action in parser._actions for o in action.option_strings if o.startswith("--")]
        if not unknown[0].startswith("-") and name == "run" and words[0] == args.model and args.model.isalpha():
            from os.path import exists

            if not exists(args.model):  # a bare word before a model was meant as a command
                raise UsageError(f"there is no command {args.model}{nearest_or_all(args.model, COMMANDS)}")
        hint = nearest(unknown[0].partition("=")[0], options) if unknown[0].startswith("--") else ""
        raise UsageError(f"unknown argument {unknown[0]}{hint or '; see --help'}")
    args.command = name
    args.advice = ""  # which sizes to give, once some are taken for what nobody gave
    return args


def top() -> Parser:
    """The words before any command."""
    parser = Parser(prog="interp", usage="interp [run] MODEL [options]")
    width = max(map(len, COMMANDS))
    commands = [f"  {name:{width}}  {said}\n" for name, said in COMMANDS.items()]
    parser.examples = "".join([SUMMARY, "commands:\n", *commands, "\n"])
    parser.add_argument("--version", action=Version)
    return parser


class Version(argparse.Action):
    """Prints the version of the installed package."""

    def __init__(self, **keywords: Any):
        super().__init__(nargs=0, help="print the version", **keywords)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # 30 ms that nobody else should wait for

        print("onnx-interp", version("onnx-interp"))
        parser.exit()
