"""`interp extract`: the part of a model between some tensors, as a model of its own."""
from __future__ import annotations

import argparse
import sys
from typing import Any

from interp.cli import show
from interp.cli.optimize import refuse_itself
from interp.cli.run import layered
from interp.cutting import extracted
from interp.errors import UsageError
from interp.feeding import shown
from interp.loading import load
from interp.opaque import tolerant
from interp.writing import save, weight

SCHEMA = 1


def main(args: argparse.Namespace) -> int:
    """Write the part, and tell where it begins and ends."""
    if not args.inputs and not args.outputs:
        raise UsageError("say where the part begins (--inputs NAME…), where it ends (--outputs NAME…), or both")
    refuse_itself(args)
    registry = layered(args.kernels)
    graph = load(args.model, tolerant(args.model, registry), trusted=tuple(args.trusted))
    part = extracted(graph, args.inputs, args.outputs)
    save(part, args.output, external=True if args.external else None)
    ends = [(kind, v) for kind, values in (("input", part.inputs), ("output", part.outputs)) for v in values]
    if args.json:
        report: dict[str, Any] = {"schema": SCHEMA, "model": args.model, "output": args.output,
                                  "nodes": [sum(1 for _ in g.walk()) for g in (graph, part)], "weight_bytes": weight(part)}
        for side in ("input", "output"):
            report[f"{side}s"] = [{"name": v.name, "type": v.type, "shape": v.shape} for kind, v in ends if kind == side]
        show.write_json(report, args.json)
    if args.json != "-":
        printer = show.Printer(sys.stdout)
        printer.line((args.output, "bold"), f"   {len(part.nodes)} of {len(graph.nodes)} nodes   "
                     f"{show.scaled(weight(part), show.BYTES, 'bytes')} of weights")
        width = max(len(v.name) for _, v in ends)
        for kind, v in ends:
            printer.line((f"{kind:6}", "bold"), f"   {v.name:{width}}   {shown(v)}")
    return 0
