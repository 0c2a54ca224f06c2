"""Operators that nobody here knows, as ones that cannot run, so that a model which has some can be checked, cut and written."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from . import plugins
from .dims import Fact
from .errors import Unsupported
from .functions import domain_of
from .infer import UNKNOWN
from .loading import parsed
from .registry import Op, Registry
from .schema import versions

ANYTHING = "**inputs: any() -> **outputs: any()"  # a type in parentheses is no constraint, so that nothing is refused


def tolerant(source: Any, registry: Registry) -> Registry:
    """A registry that also has whatever a model calls and it lacks; of such an operator only its attributes' names are known."""
    model, _ = parsed(source)
    local = {(domain_of(f), f.name) for f in model.functions}
    attributes: dict[tuple[str, str], set[str]] = {}
    for node in nodes(model):
        key = domain_of(node), node.op_type
        known = key in local or versions(key[1], key[0]) or registry.declared(*key) or plugins.registry().declared(*key)
        if not known:
            attributes.setdefault(key, set()).update(a.name for a in node.attribute)
    return Registry(registry).add(*(opaque(*key, names) for key, names in attributes.items())) if attributes else registry


def nodes(model: Any) -> Iterator[Any]:
    """Every NodeProto of a model: of its graph, of sub-graphs and of functions."""
    todo: list[Iterable[Any]] = [model.graph.node, *(f.node for f in model.functions)]
    while todo:
        for node in todo.pop():
            yield node
            todo += [graph.node for a in node.attribute for graph in ([a.g] if a.HasField("g") else a.graphs)]


def opaque(domain: str, name: str, attributes: Iterable[str]) -> Op:
    """An operator that takes and gives anything, and refuses to run."""
    def run(*inputs: Any, **given: Any) -> Any:
        raise Unsupported(f"no kernel for {domain}:{name}; add one with --kernels FILE.py or registry.add(op(...))")

    run.attributes = sorted(attributes)  # type: ignore[attr-defined]
    return Op(name, 1, None, run, lambda *_, outputs, **__: [Fact(UNKNOWN)] * outputs, domain, counted=True, signature=ANYTHING)


def unknown(registry: Registry) -> list[str]:
    """The operators of a registry that are opaque, as domain:name."""
    return sorted(f"{o.domain}:{o.name}" if o.domain else o.name for o in registry if o.signature == ANYTHING)
