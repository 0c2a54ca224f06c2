"""The layer of the standard's operators: families are imported when one of their operators is first asked for."""
from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ..frozen import written
from ..registry import Layer, Op, Registry, ops_of

FOLDER = os.path.dirname(os.path.abspath(__file__))
__all__ = ["Families", "Registry"]


class Families(Layer):
    """Operators of modules, which are imported late: what was written down when the package was built tells which has what."""

    def __init__(self, package: str, families: Iterable[str]):
        super().__init__()
        self._package, self._families = package, tuple(families)
        self._imported: set[str] = set()
        self._settled: set[tuple[str, str]] = set()
        self._lock = RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """By name: the process that unpickles it has families of its own."""
        return layer_of, (self._package,)

    def at(self, domain: str, name: str) -> Sequence[Op]:
        if (domain, name) not in self._settled:
            self._import(known()["operators"].get((domain, name), ()))
            self._import(changed(self._families))
            self._settled.add((domain, name))
        return super().at(domain, name)

    def names(self) -> Iterable[tuple[str, str]]:
        self._import(self._families)
        return super().names()

    def _import(self, families: Iterable[str]) -> None:
        for family in families:
            with self._lock:
                if family not in self._imported:
                    self.put(ops_of(import_module(f".{family}", self._package)))
                    self._imported.add(family)


def layer_of(package: str) -> Layer:
    """The layer of the operators that a package of families has."""
    return import_module(package).standard.own


@cache
def known() -> dict[str, dict]:
    """Which families have an operator, by domain and name, and what each family's file was like."""
    return written().get("families", {"operators": {}, "files": {}, "in_place": False})


@cache
def changed(families: tuple[str, ...]) -> list[str]:
    """Families of which that is not known: files that are new, or were edited since the package was built in its place."""
    files, in_place = known()["files"], known()["in_place"]
    return [f for f in families if f not in files or in_place and files[f] != file_of(f)]


def file_of(family: str) -> tuple[int, int]:
    """The size and date of a family's file."""
    found = os.stat(os.path.join(FOLDER, *family.split(".")) + ".py")
    return found.st_size, found.st_mtime_ns
