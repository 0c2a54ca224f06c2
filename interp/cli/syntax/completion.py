"""interp completion."""
from interp.cli.arguments import Parser
from interp.cli.options import telling

EXAMPLES = """\
examples:
  eval "$(interp completion bash)"                                  now; in ~/.bashrc for good
  interp completion zsh > "${fpath[1]}/_interp"                     for good, in a folder that zsh looks into
  interp completion fish > ~/.config/fish/completions/interp.fish

"""


def arguments(parser: Parser) -> None:
    """All that `completion` takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose script to print")
    telling(parser, json=False, quiet=False)
