"""`interp ops`: which operators there are, in which versions and types, what runs them and where they come from."""
from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import interp
from interp import plugins
from interp.cli import show, tables
from interp.cli.run import layered
from interp.errors import Unsupported
from interp.functions import domain_of, opsets_of
from interp.loading import parsed
from interp.registry import Op
from interp.schema import Schema, versions

SCHEMA = 1
PRIVATE = "interp"  # the domain of operators that only this package's own passes write
FEW, SHORT = 6, 72  # types that are named one by one, and characters for them
HEAD = ("operator", "versions", "types", "runs as", "from")


@dataclass
class Row:
    """An operator: the versions that run and those that do not, and what runs the newest one."""

    domain: str
    name: str
    served: list[int]
    lacking: list[int]
    types: list[str]
    without: list[str]
    kernel: str
    source: str
    nodes: int = 0

    @property
    def versions(self) -> str:
        found = ", ".join(map(str, self.served)) or "none"
        return f"{found} (not {', '.join(map(str, self.lacking))})" if self.lacking else found

    @property
    def allowed(self) -> str:
        names = ", ".join(self.types)
        if len(self.types) > FEW or len(names) > SHORT:
            names = f"all {len(self.types)}"
        return f"{names}; not {', '.join(self.without)}" if self.without else names

    @property
    def cells(self) -> tuple[str, ...]:
        return self.name, self.versions, self.allowed, self.kernel, self.source


def main(args: argparse.Namespace) -> int:
    """Print the table of all operators, or of those that a model has; 1 where --missing finds one."""
    registry = interp.Registry(layered(args.kernels), plugins.registry())
    rows = list(of_model(args.model, registry) if args.model else every(registry))
    if args.missing:
        rows = [r for r in rows if not r.served or r.lacking or r.without]
        if not rows:
            show.notice("nothing is missing")
    if args.json:
        show.write_json({"schema": SCHEMA, "operators": [vars(r) for r in rows]}, args.json)
    if args.json != "-" and (rows or args.markdown):
        for line in markdown(rows) if args.markdown else table(rows, counted=bool(args.model)):
            print(line)
    sys.stdout.flush()
    return 1 if args.missing and rows else 0


def every(registry: interp.Registry) -> Iterator[Row]:
    """All operators of the standard, and what the registry has beside them."""
    from onnx import defs

    standard = {(s.domain, s.name) for s in defs.get_all_schemas_with_history()}
    mine = {(o.domain, o.name) for o in registry if o.domain != PRIVATE}
    for domain, name in sorted(standard | mine):
        yield row(domain, name, versions(name, domain), registry)


def row(domain: str, name: str, schemas: Iterable[Schema], registry: interp.Registry) -> Row:
    """What the registry makes of some versions of an operator."""
    found: list[tuple[Schema, Op]] = []
    lacking = []
    for schema in [s for s in schemas if not s.deprecated] or filter(None, [registry.declared(domain, name)]):
        try:
            found.append((schema, registry.find(schema)))
        except Unsupported:
            lacking.append(schema.since)
    if not found:
        return Row(domain, name, [], lacking, [], [], "nothing", "")
    schema, op = found[-1]
    constraints = [p.type for p in (*schema.inputs, *schema.outputs) if p.type in schema.types]
    told = next((t for t in constraints if t.startswith("T")), constraints[0] if constraints else "")
    only = frozenset(p.type for p in schema.inputs[:1])  # where the schema leaves no choice
    allowed, mine = schema.types.get(told, only), op.takes(schema).get(told, only)
    return Row(domain, name, [s.since for s, _ in found], lacking, names(mine), names(allowed - mine), kernel(op), source(op))


def names(types: Iterable[str]) -> list[str]:
    """Types in short: those of tensors by their element."""
    return sorted(t[len("tensor("):-1] if t.startswith("tensor(") else t for t in types)


def kernel(op: Op) -> str:
    if op.view is not None:
        return "view"
    return "step" if "out" in op.wants else "Python"


def source(op: Op) -> str:
    """The module that declares an operator."""
    return op.run.__module__.removeprefix("interp.ops.")


def of_model(path: str, registry: interp.Registry) -> Iterator[Row]:
    """The operators of a model at its versions, and how many nodes have each."""
    model, _ = parsed(path)
    local = {(domain_of(f), f.name) for f in model.functions}
    counts: Counter[tuple[str, str, int]] = Counter()
    for nodes, imports in [(model.graph.node, model.opset_import), *((f.node, f.opset_import) for f in model.functions)]:
        opsets = opsets_of(imports)
        for node in walk(nodes):
            domain = domain_of(node)
            if (domain, node.op_type) not in local:
                counts[domain, node.op_type, opsets.get(domain, 0)] += 1
    for (domain, name, opset), nodes in sorted(counts.items()):
        in_force = [s for s in versions(name, domain) if s.since <= opset][-1:]
        found = row(domain, name, in_force, registry)
        found.nodes = nodes
        yield found


def walk(nodes: Iterable[Any]) -> Iterator[Any]:
    """Nodes and those of their sub-graphs."""
    todo = list(nodes)
    while todo:
        yield (node := todo.pop())
        todo += [n for a in node.attribute for graph in ([a.g] if a.HasField("g") else a.graphs) for n in graph.node]


def table(rows: list[Row], counted: bool) -> Iterator[str]:
    """Columns of plain text."""
    return tables.table([(("domain", *HEAD, "nodes") if counted else ("domain", *HEAD)),
                         *((r.domain or "ai.onnx", *r.cells, *([str(r.nodes)] if counted else [])) for r in rows)])


def markdown(rows: list[Row]) -> Iterator[str]:
    """A document with a table a domain."""
    yield "# Operators"
    yield ""
    yield "Made by `interp ops --markdown`. Versions are those of the operator's schema; types are those of its first type"
    yield "constraint that is a T, if it has one, in the newest version. A step fills buffers that are planned ahead, in a"
    yield "compiled loop where the family has one for the type; what runs as Python makes its results anew."
    for domain in dict.fromkeys(r.domain for r in rows):
        mine = [r for r in rows if r.domain == domain]
        yield ""
        yield f"## {domain or 'ai.onnx'}: {(n := sum(bool(r.served) for r in mine))} operator{'s' * (n != 1)}"
        yield ""
        yield "| " + " | ".join(HEAD) + " |"
        yield "|---" * len(HEAD) + "|"
        for r in mine:
            yield "| " + " | ".join(r.cells) + " |"
