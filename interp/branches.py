"""If with a condition that is known before the run: the branch that it names stands in the place of the node."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .dims import Fact
from .graph import Graph, Node
from .infer import Scope
from .record import replace


def chosen(graph: Graph, given: Sequence[Fact], tentative: bool = False) -> Graph:
    """The graph for inputs of which so much is known; the bodies that are left are as they were."""
    return followed(graph, given, tentative).graph if may_choose(graph) else graph


def may_choose(graph: Graph) -> bool:
    return any(len(n.bodies) == 2 for n in graph.nodes)


def followed(graph: Graph, given: Sequence[Fact], tentative: bool = False) -> Scope:
    """The same graph, and what follows for its values."""
    if not may_choose(graph):
        scope = Scope(graph, tentative=tentative)
        scope.infer(given)
        return scope
    made = replace(graph, nodes=[], constants=dict(graph.constants), hints=dict(graph.hints),
                   layouts=dict(graph.layouts))
    scope = Scope(made, tentative=tentative)
    scope.begin(given)
    todo = graph.nodes[::-1]
    while todo:
        node = todo.pop()
        branch = branch_of(node, scope)
        if branch is None:
            scope.follow(node)
            made.nodes.append(node)
        else:
            scope.know(branch.constants)
            made.constants |= branch.constants
            made.hints |= branch.hints
            names = outer_names(node, branch)
            made.layouts |= {blocked: names.get(plain, plain) for blocked, plain in branch.layouts.items()}
            todo += [replace(n, inputs=[names.get(i, i) for i in n.inputs], outputs=[names.get(o, o) for o in n.outputs])
                     for n in reversed(branch.nodes)]
    return scope


def branch_of(node: Node, scope: Scope) -> Graph | None:
    """The branch that a run will take, if that is known and all that it gives is made by its nodes."""
    if node.schema.name != "If" or node.schema.domain:
        return None
    condition = scope.facts[node.inputs[0]].value
    if not isinstance(condition, np.ndarray) or condition.dtype != np.bool_ or condition.size != 1:
        return None
    branch = node.bodies["then_branch" if condition.item() else "else_branch"]
    outputs = [v.name for v in branch.outputs]
    made = {o for n in branch.nodes for o in n.outputs}
    return branch if made.issuperset(outputs) and len(set(outputs)) == len(node.outputs) == len(outputs) else None


def outer_names(node: Node, branch: Graph) -> dict[str, str]:
    """What inputs and outputs of a branch are called outside; any other name in a model is its own."""
    names = {v.name: outer for v, outer in zip(branch.inputs, node.inputs[1:], strict=True)}
    return names | {v.name: outer for v, outer in zip(branch.outputs, node.outputs, strict=True) if outer}
