"""Prints docs/cli.md, the help of every command: ``python docs/make_cli.py > docs/cli.md``. A test holds the page to it."""
from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

HEAD = """# The command line

Made by `python docs/make_cli.py > docs/cli.md` from what `--help` says. [running.md](running.md) and [debugging.md](debugging.md)
show the commands at work.

Data goes to stdout; notices, progress and errors go to stderr. On a terminal there is colour (NO_COLOR, FORCE_COLOR and
TERM=dumb are obeyed), in a pipe plain, uncut text. `--json` writes one object with `"schema": 1`, to stdout or with
`--json=FILE` to a file.

| exit code | means |
|---|---|
| 0 | all is well |
| 1 | a check failed |
| 2 | wrong usage |
| 3 | the model cannot be read, or is not valid |
| 4 | an operator, version or type is not supported |
| 5 | bad input data |
| 6 | a kernel failed |
| 130 | interrupted |
"""


def page() -> str:
    """The whole page."""
    os.environ["COLUMNS"] = "100"
    from interp.cli.arguments import COMMANDS, Parser, top

    parts = [HEAD, f"## interp\n\n```text\n{top().format_help()}```\n"]
    for name in COMMANDS:
        parser = Parser(prog=f"interp {name}", allow_abbrev=False)
        syntax = import_module(f"interp.cli.syntax.{name}")
        parser.examples = syntax.EXAMPLES
        syntax.arguments(parser)
        parts.append(f"## interp {name}\n\n```text\n{parser.format_help()}```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    print(page(), end="")
