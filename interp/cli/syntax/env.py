"""interp env."""
from interp.cli.arguments import Parser

EXAMPLES = """\
examples:
  interp env           versions, processor, threads, memory, settings: paste it into a report of a bug
  interp env --json    for a program to read

"""


def arguments(parser: Parser) -> None:
    """All that `env` takes."""
    parser.add_argument("--json", metavar="FILE", help="for programs; to standard output without =FILE")
    parser.add_argument("--traceback", action="store_true", help="where an error comes from")
