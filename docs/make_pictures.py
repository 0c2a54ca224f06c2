"""Draws the pictures of the pages, docs/pictures/*.svg: ``python docs/make_pictures.py``. Terminals are real runs, in colour."""
from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/pictures"
TERMINALS = {
    "profile": "interp profile examples/digits/digits.onnx -d N=64 -n 200 -q",
}
DRAWN = {"graph": "interp draw examples/digits/digits.onnx -o docs/pictures/graph.svg"}
WIDTH = 128


def run(command: str) -> str:
    """What a command prints on a terminal."""
    words = [sys.executable, "-m", *command.split()]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8",
                          env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"}).stdout


def terminal(command: str) -> str:
    """A picture of a terminal, with the command and what it printed; fonts are the reader's own."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.assemble(("$ ", "green"), command))
    console.print(Text.from_ansi(run(command).rstrip()), soft_wrap=True)
    picture = console.export_svg(title="onnx-interp", unique_id="terminal")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.S).replace("Fira Code, monospace", "monospace")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, command in TERMINALS.items():
        (FOLDER / f"{name}.svg").write_text(terminal(command), encoding="utf-8")
    for command in DRAWN.values():
        run(command)


if __name__ == "__main__":
    main()
