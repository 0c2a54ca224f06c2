"""Whether a model is valid, what is odd in it, and whether this package can run it."""
from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .dims import Fact
from .errors import InterpError, ModelError, Unsupported
from .graph import Graph
from .infer import UNKNOWN, Scope, declared
from .lints import LINTS, Finding, Subject, external_data
from .loading import load, parsed
from .opaque import tolerant
from .ops import standard
from .registry import Registry
from .session import load as opened

SEVERITIES = ("error", "unsupported", "warning", "note")
# What keeps a model from running.
FATAL = frozenset(("external-data", "operator", "version", "type", "invalid", "inference", "plan"))
KNOWN = ((re.compile("in initializer but not in graph input"),
          "files before version 4 of the format list every weight among the inputs; interp optimize writes a newer one"),)


def check_model(source: Any, *, registry: Registry = standard, trusted: Sequence[Any] = ()) -> list[Finding]:
    """What onnx's checker, inference, lints and this package's own reading find in a model; the worst first.

    A Finding has a `severity`: "error" (the model is not valid), "unsupported" (this package cannot run it), "warning" or
    "note"; a `kind`, the `node`, a `text`, and `advice`. Raises ModelError only where there is no model to be read.
    """
    proto, folder = parsed(source)
    if not proto.HasField("graph"):
        raise ModelError("this is not an ONNX model: it has no graph")
    missing = list(external_data(proto, folder))
    found = [*missing, *unsupported(source, registry, trusted)]
    if not missing:
        found += by_checker(source)
    try:
        graph = load(source, tolerant(source, registry), trusted=trusted)
    except Unsupported as e:
        found += [f for f in (Finding("unsupported", "version", "", str(line)) for line in str(e).splitlines()) if f not in found]
    except InterpError as e:
        found += [] if missing else [Finding("error", "invalid", "", str(e))]
    else:
        facts, wrong = inferred(graph)
        found += [f for f in wrong if f.text not in {g.text for g in found}]
        subject = Subject(proto, folder, graph, facts)
        found += [f for lint in LINTS for f in lint(subject)]
    if runs(found):
        found += planned(source, registry, trusted)
    return sorted(found, key=lambda f: SEVERITIES.index(f.severity))


def runs(found: Iterable[Finding]) -> bool:
    """Whether this package can run a model of which this was found; one may run though a checker calls it invalid."""
    return not any(f.kind in FATAL for f in found)


def unsupported(source: Any, registry: Registry, trusted: Sequence[Any]) -> Iterator[Finding]:
    """The operators that this package lacks, each with the nodes that call it."""
    try:
        load(source, registry, trusted=trusted)
    except Unsupported as e:
        for line in str(e).splitlines():
            node, _, text = line.partition(": ")
            text, _, advice = text.partition("; ")
            yield Finding("unsupported", "operator", node, text, advice)
    except InterpError:
        return  # what else is wrong is told where the model is read tolerantly


def by_checker(source: Any) -> Iterator[Finding]:
    """What onnx's own checker says, its inference included."""
    import onnx

    try:
        given = os.fspath(source) if isinstance(source, str | os.PathLike) else source
        if isinstance(given, bytes | bytearray | memoryview):
            given = onnx.load_model_from_string(bytes(given))
        onnx.checker.check_model(given, full_check=True)
    except Exception as e:  # the checker, its inference and protobuf raise errors of their own
        said = [line.strip() for line in str(e).splitlines() if line.strip() and not line.startswith("==>")]
        text = " ".join(said) or type(e).__name__
        yield Finding("error", "checker", "", text, next((advice for known, advice in KNOWN if known.search(text)), ""))


def inferred(graph: Graph) -> tuple[dict[str, Fact], list[Finding]]:
    """What is known of every value, and each node for which inference fails; what depends on those is unknown."""
    scope, found = Scope(graph), []
    scope.begin([declared(v) for v in graph.inputs])
    for node in graph.nodes:
        try:
            scope.follow(node)
        except InterpError as e:
            severity = "unsupported" if isinstance(e, Unsupported) else "error"
            name, _, text = str(e).partition(": ")
            found.append(Finding(severity, "type" if severity == "unsupported" else "inference",
                                 node.name if name.startswith(node.name) else "", text if name.startswith(node.name) else str(e)))
            scope.facts |= {o: Fact(UNKNOWN) for o in node.outputs if o}
    return scope.facts, found


def planned(source: Any, registry: Registry, trusted: Sequence[Any]) -> Iterator[Finding]:
    """What goes wrong when the model is made ready to run, where nothing did before."""
    try:
        opened(source, registry=registry, trusted=trusted)
    except InterpError as e:
        yield Finding("unsupported" if isinstance(e, Unsupported) else "error", "plan", "", str(e))
