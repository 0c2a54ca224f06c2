"""interp env."""
from interp.cli.arguments import Parser
from interp.cli.options import telling

EXAMPLES = """\
examples:
  interp env           versions, processor, threads, memory, settings: paste it into a report of a bug
  interp env --json    for a program to read

"""


def arguments(parser: Parser) -> None:
    """All that `env` takes."""
    telling(parser, quiet=False)
