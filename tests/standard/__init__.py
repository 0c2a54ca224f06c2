"""Every operator of the standard, at every version, with every type: a table a family of how to feed it and what is due.

`python -m tests.standard` says which operators have no maker yet.
"""
from importlib import import_module
from pathlib import Path

for path in sorted(Path(__file__).parent.glob("*.py")):
    if path.stem not in ("__init__", "__main__"):
        import_module(f".{path.stem}", __name__)
