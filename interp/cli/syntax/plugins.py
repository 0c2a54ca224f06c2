"""interp plugins."""
from interp.cli.arguments import Parser
from interp.cli.options import telling

EXAMPLES = """\
examples:
  interp plugins            which plug-ins are installed, and what is in them
  interp plugins --json     for a program to read
  INTERP_PLUGINS=0 interp model.onnx            without any
  INTERP_PLUGINS=org.example interp model.onnx  with those of one domain, or distribution, alone

A plug-in is a distribution with an entry point of the group interp.kernels, named after the domain that it serves.
The exit code is 1 where one cannot be loaded.

"""


def arguments(parser: Parser) -> None:
    """All that `plugins` takes."""
    telling(parser, quiet=False)
