"""Operators of other distributions: found by their entry points, imported when a model needs an operator that nobody else has.

A distribution declares an entry point of the group `interp.kernels` for each domain that it serves. The entry point's name is the
domain ("ai.onnx" for the standard's own); its value names a module that holds operators, or an attribute: an Op, a list of them,
a Registry, or a function without parameters that gives one of those.

    [project.entry-points."interp.kernels"]
    "org.example" = "example_kernels.operators"

INTERP_PLUGINS=0 switches all of them off; INTERP_PLUGINS=NAME,NAME leaves those distributions or domains alone on.
"""
from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from .registry import Layer, Op, Registry, ops_of

GROUP = "interp.kernels"
SWITCH = "INTERP_PLUGINS"
OFF = ("0", "no", "off", "false")


@dataclass
class Plugin:
    """An entry point: the domain that it serves, whose it is, and what became of it.

    ``state`` is "found" until it is imported, then "loaded", or "failed" with an ``error``; "off" where it is switched off.
    ``operators`` are names, known once it is loaded.
    """

    domain: str
    distribution: str
    version: str
    value: str
    state: str = "found"
    operators: list[str] = field(default_factory=list)
    error: str = ""
    entry: Any = field(default=None, repr=False)


class Plugins(Layer):
    """The operators of all plug-ins; each is imported when something of its domain is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Plugin] | None = None
        self._lock = RLock()

    def found(self) -> list[Plugin]:
        """Every plug-in that is installed, by distribution and domain; nothing is imported for it."""
        with self._lock:
            if self._found is None:
                self._found = sorted(map(plugin, entry_points()), key=lambda p: (p.distribution, p.domain, p.value))
            return self._found

    def of(self, domain: str) -> list[Plugin]:
        """The plug-ins of a domain."""
        return [p for p in self.found() if p.domain == (domain or "ai.onnx")]

    def at(self, domain: str, name: str) -> Sequence[Op]:
        for each in self.of(domain):
            self.load(each)
        return super().at(domain, name)

    def names(self) -> Iterable[tuple[str, str]]:
        for each in self.found():
            self.load(each)
        return super().names()

    def load(self, each: Plugin) -> None:
        """Import a plug-in, once. What goes wrong is kept, to be told where it is needed."""
        with self._lock:
            if each.state != "found":
                return
            each.state = "failed"  # until all is well; also for who asks while it is imported
            try:
                ops = operators(each.entry.load())
                check_domain(ops, each.domain)
                self._put_whole(ops)
            except KeyboardInterrupt:
                each.state = "found"
                raise
            except BaseException as e:  # whatever a stranger's module may raise
                each.error = told(e)
            else:
                each.state, each.operators = "loaded", sorted({o.name for o in ops})

    def _put_whole(self, ops: list[Op]) -> None:
        """Add operators, all or none."""
        trial = Layer({key: list(own) for key, own in self.items()})
        trial.put(ops)
        self.update(trial)

    def reason(self, domain: str, name: str) -> str:
        """Why no plug-in gives an operator, if there is one for its domain: how a message goes on."""
        said = []
        for each in self.of(domain):
            who = f"the plug-in {each.domain} of {each.distribution} {each.version}"
            if each.state == "off":
                said.append(f"{who} is switched off by {SWITCH}")
            elif each.error:
                said.append(f"{who} cannot be loaded: {each.error}")
            else:
                said.append(f"{who} has {', '.join(each.operators)}")
        return "; ".join(said)


def told(error: BaseException) -> str:
    """An exception in words, even if it cannot say them itself."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def entry_points() -> Iterable[Any]:
    """The entry points of the group, of every distribution on the path."""
    from importlib.metadata import entry_points  # 30 ms that nobody should wait for who needs no plug-in

    return entry_points(group=GROUP)


def plugin(entry: Any) -> Plugin:
    """What an entry point tells before it is imported."""
    name, version = (entry.dist.name, entry.dist.version) if entry.dist else ("?", "?")
    made = Plugin(entry.name, name, version, entry.value, entry=entry)
    if not wanted(made):
        made.state = "off"
    return made


def wanted(each: Plugin) -> bool:
    """Whether a plug-in is on."""
    said = os.environ.get(SWITCH, "").strip()
    if not said or said == "1":
        return True
    return said.lower() not in OFF and bool({each.distribution, each.domain} & {s.strip() for s in said.split(",")})


def operators(given: Any) -> list[Op]:
    """The operators that a plug-in's value stands for."""
    if not isinstance(given, Op) and not isinstance(given, ModuleType | Registry | list | tuple) and callable(given):
        given = given()
    if isinstance(given, Op):
        found = [given]
    elif isinstance(given, ModuleType):
        found = list(ops_of(given))
    elif isinstance(given, Registry):
        found = [o for ops in given.own.values() for o in ops]
    elif isinstance(given, list | tuple) and all(isinstance(o, Op) for o in given):
        found = list(given)
    else:
        raise TypeError(f"{given!r} is no module, Op, list of Ops or Registry, nor a function that gives one")
    if not found:
        raise TypeError("it holds no operators; declare a function as one with @interp.op(\"Name\", domain=…, shape=rule)")
    return [each for o in found for each in (o, *o.others)]


def check_domain(ops: Iterable[Op], domain: str) -> None:
    """Refuse operators of another domain than the entry point names: nobody would look for them there."""
    for o in ops:
        if (o.domain or "ai.onnx") != domain:
            raise ValueError(f"{o.name} is of the domain {o.domain or 'ai.onnx'}, the entry point is named {domain}")


@cache
def installed() -> Plugins:
    """The plug-ins of this process."""
    return Plugins()


@cache
def registry() -> Registry:
    """The operators of the plug-ins of this process."""
    return Registry(own=installed())
