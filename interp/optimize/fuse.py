"""Rewrites graphs and their bodies by the passes that put faster operators in the place of several."""
from __future__ import annotations

from collections.abc import Callable

from ..graph import Graph
from ..infer import Scope, declared
from ..record import replace
from .rewrite import Rewriter

Pass = Callable[[Rewriter], None]


def fuse(graph: Graph, passes: tuple[Pass, ...], exact: bool) -> Graph:
    """The graph after the passes, each over all of it; bodies come before the graph that they lie in. ``exact``: sum directly."""
    scope = Scope(graph)
    scope.infer([declared(v) for v in graph.inputs])
    return within(scope, passes, exact)


def within(scope: Scope, passes: tuple[Pass, ...], exact: bool) -> Graph:
    nodes = []
    for node in scope.graph.nodes:
        inner = scope.bodies.get(id(node), {})
        bodies = {k: within(s, passes, exact) for k, s in inner.items() if s.facts}
        nodes.append(replace(node, attributes={**node.attributes, **bodies}) if bodies else node)
    at = Rewriter(replace(scope, graph=replace(scope.graph, nodes=nodes)), exact)
    for apply in passes:
        apply(at)
    return at.finished()
