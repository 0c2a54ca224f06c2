"""interp check."""
from interp.cli.arguments import Parser
from interp.cli.options import opening, telling

EXAMPLES = """\
examples:
  interp check model.onnx             is it valid, what is odd in it, can this package run it
  interp check model.onnx --strict    the exit code is 1 for warnings too
  interp check model.onnx --json      for a program to read

The exit code is 0, 1 for a model that is not valid, 3 for one that cannot be read, 4 for one that this package cannot run.
With -q notes are left out.

"""


def arguments(parser: Parser) -> None:
    """All that `check` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("--strict", action="store_true", help="fail where there are warnings")
    opening(parser)
    telling(parser, more="all findings of a kind on a terminal, too")
