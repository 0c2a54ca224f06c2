"""interp check."""
from interp.cli.arguments import Parser

EXAMPLES = """\
examples:
  interp check model.onnx             is it valid, what is odd in it, can this package run it
  interp check model.onnx --strict    the exit code is 1 for warnings too
  interp check model.onnx --json      for a program to read

The exit code is 0, 1 for a model that is not valid, 3 for one that cannot be read, 4 for one that this package cannot run.

"""


def arguments(parser: Parser) -> None:
    """All that `check` takes."""
    parser.add_argument("model", metavar="MODEL", help="an .onnx file")
    parser.add_argument("--strict", action="store_true", help="fail where there are warnings")
    parser.add_argument("--kernels", metavar="MODULE|FILE.py", action="append", default=[], help="operators of your own")
    parser.add_argument("--trusted", metavar="DIR", action="append", default=[],
                        help="a further folder that weights may be read from")
    parser.add_argument("--json", metavar="FILE", help="for programs; to standard output without =FILE")
    loud = parser.add_mutually_exclusive_group()
    loud.add_argument("-q", "--quiet", action="store_true", help="no notes")
    loud.add_argument("-v", "--verbose", action="store_true", help="all findings of a kind on a terminal, too")
    parser.add_argument("--traceback", action="store_true", help="where an error comes from")
