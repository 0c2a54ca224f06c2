"""Writes down, while the package is built, what `frozen` reads: ``python -m interp.freeze FOLDER``."""
from __future__ import annotations

import marshal
import os
import sys
from importlib import import_module
from typing import Any

import onnx

from . import frozen, messages, schema
from .ops import FAMILIES
from .ops.families import file_of
from .registry import ops_of


def of_onnx() -> dict[str, Any]:
    """The schemas and messages of the installed onnx."""
    schemas = {key: {since: schema.written(schema.read(s)) for since, s in versions.items()}
               for key, versions in schema.history().items()}
    return {"onnx": onnx.__version__, "schemas": schemas, "newest": schema.newest(), "messages": messages.table()}


def families(in_place: bool) -> dict[str, Any]:
    """Which families have which operator; ``in_place`` where the package lies in a tree that people edit."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for family in FAMILIES:
        for first in ops_of(import_module(f".ops.{family}", __package__)):
            for o in (first, *first.others):
                key = o.domain, o.name
                found[key] = tuple(dict.fromkeys((*found.get(key, ()), family)))
    return {"operators": found, "files": {f: file_of(f) for f in FAMILIES}, "in_place": in_place}


def main() -> None:
    folder, *options = sys.argv[1:]
    path = os.path.join(folder, os.path.basename(frozen.FILE))
    found = {**of_onnx(), "families": families("--in-place" in options)}
    with open(f"{path}.{os.getpid()}", "wb") as file:
        marshal.dump(found, file)
    os.replace(file.name, path)  # whole, also for who reads it meanwhile


if __name__ == "__main__":
    main()
