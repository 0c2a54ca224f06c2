"""interp ops."""
from interp.cli.arguments import Parser
from interp.cli.options import kernels, telling

EXAMPLES = """\
examples:
  interp ops                        every operator: versions, types, what runs it
  interp ops model.onnx             those of a model
  interp ops model.onnx --missing   those of a model that cannot run
  interp ops --markdown > docs/operators.md

"""


def arguments(parser: Parser) -> None:
    """All that `ops` takes."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="an .onnx file whose operators to list, at its versions")
    parser.add_argument("--missing", action="store_true", help="only what cannot run; the exit code is 1 where there is any")
    parser.add_argument("--markdown", action="store_true", help="a document, a table a domain")
    kernels(parser)
    telling(parser, quiet=False)
