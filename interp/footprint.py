"""How many bytes the values of a run take, worked out from a plan and not from a run."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .arena import arranged, lines
from .dims import Fact
from .graph import Graph
from .infer import Scope, declared
from .kernels.program import Cancel
from .parts import Body, Bound, Model
from .plan import Plan, Settings
from .weights import Packing


@dataclass(frozen=True)
class Footprint:
    """Bytes of inputs, of outputs, and of what lies between; ``exact`` is False where some of it only the data tell."""

    inputs: int
    outputs: int
    between: int
    exact: bool


def footprint(graph: Graph) -> Footprint:
    """What the values of one run take, for a graph whose inputs have sizes that are numbers.

    Between inputs and outputs there is one arena for each program, laid by lifetimes, for the graph and for each of its
    bodies. Where a graph runs in parts, the values that pass from part to part stay until the end.
    """
    body = Body(graph, [declared(v) for v in graph.inputs], Settings(Packing(), 1, Cancel()))
    sized = [fact(v.type, v.shape) for v in graph.inputs]
    if body.general is None:
        return Footprint(total(sized)[0], 0, 0, False)
    facts = body.general.scope.facts
    (inputs, all_in), (outputs, all_out) = total(sized), total([facts[v.name] for v in graph.outputs])
    between, exact = of_model(body.general)
    return Footprint(inputs, outputs, between, all_in and all_out and exact)


def fact(kind: str | None, shape: Sequence[object] | None) -> Fact:
    known = shape is not None and all(isinstance(d, int) for d in shape)
    return Fact(kind or "?", tuple(shape) if known and shape is not None else None)  # type: ignore[arg-type]


def total(facts: Sequence[Fact]) -> tuple[int, bool]:
    """The bytes of values, and whether that is all of them: of strings and sequences, and of open sizes, nothing is known."""
    sizes = [size(f) for f in facts]
    return sum(n for n in sizes if n is not None), None not in sizes


def size(fact: Fact) -> int | None:
    if fact.shape is None or not all(isinstance(d, int) for d in fact.shape) or not fact.type.startswith("tensor("):
        return None
    return None if fact.dtype.kind == "O" else int(prod(fact.shape)) * fact.dtype.itemsize  # type: ignore[arg-type]


def of_model(model: Model) -> tuple[int, bool]:
    """The bytes between inputs and outputs of a graph that is planned."""
    if model.whole is not None:
        (here, exact), (inside, also) = of_plan(model.whole.plan), of_bodies(model.scope, model)
        return here + inside, exact and also
    found, exact = 0, False
    crossing = {o for part in model.parts for o in part.outputs if o} - set(model.outputs)
    found += total([model.scope.facts[o] for o in crossing if o in model.scope.facts])[0]
    for part in model.parts:
        if isinstance(part, Bound):
            found += of_plan(part.plan)[0]
        elif isinstance(part, Body) and part.general is not None:
            found += of_model(part.general)[0]
    return found, exact


def of_bodies(scope: Scope, model: Model) -> tuple[int, bool]:
    """The same for the bodies of a graph's nodes, each of which keeps a program."""
    found, exact = 0, True
    for inner in (s for bodies in scope.bodies.values() for s in bodies.values()):
        body = Body(inner.graph, inner.given, model.settings, tentative=True)
        here, all_ = of_model(body.general) if body.general is not None else (0, False)
        found, exact = found + here, exact and all_
    return found, exact


def of_plan(plan: Plan) -> tuple[int, bool]:
    """The arena of a program, as binding would lay it."""
    sizes = {root: size(plan.facts[root]) for root in plan.conflicts}
    known = {root: lines(n) for root, n in sizes.items() if n is not None}
    return arranged(known, {r: plan.conflicts[r] & known.keys() for r in known})[1], len(known) == len(sizes)
