"""`interp info`: what there is in a model, without running it."""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import interp
from interp.cli import show
from interp.cli.draw import noticed
from interp.cli.run import layered
from interp.drawing.text import shown
from interp.inventory import Inventory, Layer, Share, Tensor, inventory
from interp.survey import Survey, survey

SCHEMA = 1
LABEL = 10  # characters of the first column
FEW, SHORT = 5, 100  # sizes that are named one by one, and characters of metadata
Line = list[Any]  # texts, or texts with a style


def main(args: argparse.Namespace) -> int:
    """Print what the arguments ask for."""
    reading: dict[str, Any] = {"sizes": dict(args.dim), "shapes": dict(args.shape), "trusted": args.trusted,
                               "registry": layered(args.kernels)}
    found = survey(args.model, **reading)
    if not args.quiet:
        noticed(found)
    made = inventory(found, args.model, **reading)
    if args.json:
        show.write_json(as_json(args.model, found, made), args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        for line in lines(args, found, made):
            printer.line(*((shown(part), "") if isinstance(part, str) else (shown(part[0]), part[1]) for part in line))
    sys.stdout.flush()
    return 0


def lines(args: argparse.Namespace, found: Survey, made: Inventory) -> Iterator[Line]:
    """The summary; rows of nodes or tensors in its place where they are asked for."""
    if args.layers:
        yield from columns([("node", "operator", "output", "parameters", "MACs"), *map(row, made.layers)])
    if args.shapes:
        yield from columns([("tensor", "type", "shape"), *((t.name, kind(t), shape(t)) for t in made.tensors)])
    if not (args.layers or args.shapes):
        yield from summary(args.model, found, made)


def summary(path: str, found: Survey, made: Inventory) -> Iterator[Line]:
    """A line a subject, a column of labels to the left."""
    model, graph = found.model, found.graph
    opsets = ", ".join(f"{domain or 'opset'} {version}" for domain, version in graph.opsets.items())
    producer = f"{model.producer_name} {model.producer_version}".strip()
    yield [(Path(path).name, "bold"), f"   {size(os.path.getsize(path))}   IR {model.ir_version}   {opsets}"
           + (f"   by {producer}" if producer else "") + (f"   {graph.name}" if graph.name else "")]
    ends = [*(("input", t) for t in made.inputs), *(("output", t) for t in made.outputs)]
    width = max((len(t.name) for _, t in ends), default=0)
    for label, t in ends:
        yield labelled(label, f"{t.name:{width}}  ", (f"{kind(t)}{shape(t)}", "cyan"))
    for v in graph.overridable.values():
        yield labelled("default", f"{v.name:{width}}  ", "an initializer that may be fed")
    nodes = sum(made.operators.values())
    yield labelled("nodes", f"{nodes}   " + "  ".join(f"{name} {n}" for name, n in made.operators.most_common()))
    if found.missing:
        yield labelled("missing", ("  ".join(f"{name} {n}" for name, n in found.missing.most_common()), "red"))
    everything = total(made.parameters.values())
    types = "  ".join(f"{name} {amount(s.count)} in {counted(s.tensors, 'tensor')}" for name, s in made.parameters.items())
    yield labelled("weights", f"{amount(everything.count)} parameters, {size(everything.bytes)}   {types}")
    yield labelled("MACs", macs(made), assumed(made))
    yield labelled("memory", memory(made), assumed(made))
    yield from rest(found, made)


def rest(found: Survey, made: Inventory) -> Iterator[Line]:
    """What not every model has."""
    if made.subgraphs:
        yield labelled("bodies", counted(made.subgraphs, "sub-graph"))
    for name, n in made.functions.items():
        yield labelled("function", f"{name}   {counted(n, 'node')}")
    for place, share in made.external.items():
        yield labelled("external", f"{place}   {counted(share.tensors, 'tensor')}   {size(share.bytes)}")
    for key, value in found.graph.metadata["props"].items():
        text = value if len(value) <= SHORT else f"{value[:SHORT]}… ({len(value)} characters; --json has all)"
        yield labelled("metadata", (f"{key}  ", "bold"), text.replace("\n", " "))
    if doc := found.graph.metadata["doc"].strip():
        yield labelled("doc", doc.partition("\n")[0])


def labelled(label: str, *parts: Any) -> Line:
    return [(f"{label:{LABEL}}", "bold"), *parts]


def counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'s' * (n != 1)}"


def size(n: int) -> str:
    return show.scaled(n, show.BYTES, "") if n >= 1024 else counted(n, "byte")


def amount(n: int) -> str:
    return show.scaled(n, show.COUNTS, "")


def macs(made: Inventory) -> str:
    """The multiply-accumulates, and which nodes are not among them."""
    unknown = ", ".join(f"{name} {n}" for name, n in made.uncounted.most_common(FEW))
    if made.uncounted and not made.macs:
        return f"unknown: of {unknown}"
    return amount(made.macs) + (f", without {unknown} of which they are not known" if unknown else "")


def memory(made: Inventory) -> str:
    """What a run takes, and of what that is the sum."""
    if made.memory is None:
        return f"unknown: {made.why}"
    weights, m = total(made.parameters.values()).bytes, made.memory
    return (f"{'' if m.exact else 'at least '}{size(weights + m.inputs + m.outputs + m.between)}   weights {size(weights)}   "
            f"inputs {size(m.inputs)}   between operators {size(m.between)}   outputs {size(m.outputs)}")


def assumed(made: Inventory) -> str:
    """What open sizes were taken as."""
    if not made.assumed:
        return ""
    by_size: dict[int, list[str]] = {}
    for name, n in made.assumed.items():
        by_size.setdefault(n, []).append(name)
    named = "; ".join(f"{n} for {', '.join(names[:FEW])}{f' and {len(names) - FEW} more' if len(names) > FEW else ''}"
                      for n, names in by_size.items())
    return f"   (with {named}; -d and --shape say otherwise)"


def total(shares: Iterable[Share]) -> Share:
    given = list(shares)
    return Share(sum(s.tensors for s in given), sum(s.count for s in given), sum(s.bytes for s in given))


def row(layer: Layer) -> tuple[str, ...]:
    """A node's cells, those of sub-graphs indented."""
    outputs = ", ".join(f"{kind(t)}{shape(t)}" for t in layer.outputs)
    return (f"{'  ' * len(layer.within)}{layer.name}", layer.operator, outputs, str(layer.parameters or ""),
            "?" if layer.macs is None else str(layer.macs or ""))


def kind(tensor: Tensor) -> str:
    """A type as NumPy calls it, where it is a tensor's."""
    given = tensor.type or "?"
    if not given.startswith("tensor("):
        return given
    return interp.types.DTYPE[given].name if given != "tensor(string)" else "string"


def shape(tensor: Tensor) -> str:
    return "" if tensor.shape is None else f"[{','.join('?' if d is None else str(d) for d in tensor.shape)}]"


def columns(rows: Sequence[tuple[str, ...]]) -> Iterator[Line]:
    """Rows under a head; columns of numbers end at one line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [name in ("parameters", "MACs") for name in rows[0]]
    for k, cells in enumerate(rows):
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
        yield [("  ".join(padded).rstrip(), "bold" if not k else "")]


def as_json(path: str, found: Survey, made: Inventory) -> dict[str, Any]:
    """All of it."""
    model, graph = found.model, found.graph
    weights = total(made.parameters.values())
    return {
        "schema": SCHEMA,
        "model": {"path": path, "bytes": os.path.getsize(path), "ir_version": model.ir_version, "opset": graph.opsets,
                  "producer": {"name": model.producer_name, "version": model.producer_version}, "domain": model.domain,
                  "version": model.model_version, "graph": graph.name, **{k: graph.metadata[k] for k in ("doc", "props")}},
        "inputs": [asdict(t) for t in made.inputs],
        "defaults": [vars(v) for v in graph.overridable.values()],
        "outputs": [asdict(t) for t in made.outputs],
        "operators": [{"name": name, "nodes": n, "missing": name in found.missing} for name, n in made.operators.most_common()],
        "parameters": {**asdict(weights), "types": {name: asdict(s) for name, s in made.parameters.items()}},
        "macs": {"total": made.macs, "unknown": made.uncounted},
        "memory": None if made.memory is None else {**asdict(made.memory), "weights": weights.bytes},
        "memory_unknown": made.why,
        "assumed": made.assumed,
        "functions": [{"name": name, "nodes": n} for name, n in made.functions.items()],
        "subgraphs": made.subgraphs,
        "external": [{"location": place, **asdict(s)} for place, s in made.external.items()],
        "layers": [asdict(layer) for layer in made.layers],
        "tensors": [asdict(t) for t in made.tensors],
        "problems": found.problems,
    }
