"""What is odd in a model though it may run: each function looks for one kind of thing, and says what to do about it."""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from .dims import Fact
from .functions import domain_of
from .graph import Graph, Node, Value
from .infer import UNKNOWN
from .opaque import nodes
from .writing import graphs

OLD = 7  # the version of ai.onnx from which broadcasting is what it is now
DENORMAL_SHARE = 1e-3  # of a weight's elements, from which they are worth a word
LARGEST = 2**31  # bytes that a protobuf file can have


@dataclass(frozen=True)
class Finding:
    """Something that a check found: how bad it is ("error", "warning" or "note"), what kind of thing, where, and what to do."""

    severity: str
    kind: str
    node: str
    text: str
    advice: str = ""


warning, note = partial(Finding, "warning"), partial(Finding, "note")


@dataclass
class Subject:
    """A model under check: as it is written, as a graph, and what inference found of its values."""

    proto: Any
    folder: str | None
    graph: Graph
    facts: dict[str, Fact]

    @cached_property
    def readers(self) -> dict[str, list[Node]]:
        """The nodes of the main graph that read each value, in their bodies too."""
        found: dict[str, list[Node]] = {}
        for node in self.graph.nodes:
            inner = [k for body in node.bodies.values() for g in graphs(body) for k in g.constants]
            for i in dict.fromkeys([*filter(None, node.inputs), *inner]):
                found.setdefault(i, []).append(node)
        return found

    def reader(self, value: str) -> str:
        """The name of the first node that reads a value."""
        found = self.readers.get(value)
        return found[0].name if found else ""

    def weights(self, *kinds: str) -> Iterator[tuple[str, np.ndarray]]:
        """The constants of the main graph and the bodies, by the kind of their NumPy type."""
        found = {id(a): (name, a) for g in graphs(self.graph) for name, a in g.constants.items()}
        yield from ((name, a) for name, a in found.values() if isinstance(a, np.ndarray) and a.dtype.kind in kinds)


Lint = Callable[[Subject], Iterable[Finding]]


def external_data(proto: Any, folder: str | None) -> Iterator[Finding]:
    """Files of weights that are missing or too short. (Whether they lie where they may is looked at when they are read.)"""
    for tensor in proto.graph.initializer:
        given = {e.key: e.value for e in tensor.external_data}
        if not tensor.data_location or not given.get("location"):
            continue
        place = os.path.join(folder or ".", given["location"])
        if not os.path.isfile(place):
            yield Finding("error", "external-data", "", f"{given['location']} is missing, with the weights of {tensor.name}",
                          "put the file beside the model; it has to travel with it")


def never_read(at: Subject) -> Iterator[Finding]:
    """Nodes that no output needs, and inputs and weights that nobody reads."""
    needed = {v.name for v in at.graph.outputs}
    dead = []
    for node in reversed(at.graph.nodes):
        if needed.intersection(node.outputs):
            needed.update(node.inputs)
        else:
            dead.append(node)
    for node in dead[::-1]:
        yield warning("dead-node", node.name, f"no output of the model needs {', '.join(filter(None, node.outputs))}",
                      "interp optimize drops it")
    for v in at.graph.inputs:
        if v.name not in at.readers and v.name not in needed:
            yield warning("unused-input", "", f"no node reads the input {v.name}, which still has to be fed",
                          "export the model without it")
    written = {t.name for t in at.proto.graph.initializer}
    for name, a in at.graph.constants.items():
        if name in written and name not in at.readers and name not in needed:
            yield warning("unused-weight", "", f"no node reads the initializer {name} ({a.nbytes} bytes)",
                          "interp optimize drops it")


def names(at: Subject) -> Iterator[Finding]:
    """Nodes that share a name, and those without one."""
    given = [n.name for n in at.proto.graph.node]
    for name, count in Counter(given).items():
        if name and count > 1:
            yield warning("duplicate-name", name, f"{count} nodes have this name, so that profiles and errors mix them up",
                          "give each a name of its own")
    unnamed = sum(not n for n in given)
    if unnamed:
        yield note("unnamed-node", "", f"{unnamed} of {len(given)} nodes have no name; errors number them",
                      "name them when the model is exported")


def initializers_as_inputs(at: Subject) -> Iterator[Finding]:
    """Weights that are inputs too: no engine may work out ahead what depends on them."""
    found = list(at.graph.overridable)
    if found and at.proto.ir_version >= 4:
        yield warning("initializer-input", "", f"{len(found)} initializers are inputs too ({listed(found)}), so that "
                      "engines must not fold them", "export with keep_initializers_as_inputs=False, or drop them from the inputs")


def versions(at: Subject) -> Iterator[Finding]:
    """Opsets that are very old, imported twice or for nothing."""
    opset = at.graph.opsets.get("", OLD)
    if opset < OLD:
        yield warning("old-opset", "", f"opset {opset} is older than {OLD}, when broadcasting changed; few engines still "
                      "run it as it was meant", "convert it with onnx.version_converter")
    imported = Counter(domain_of(o) for o in at.proto.opset_import)
    used = {domain_of(n) for n in nodes(at.proto)} | {domain_of(f) for f in at.proto.functions}
    for domain, count in imported.items():
        if count > 1:
            yield warning("opset-twice", "", f"{domain or 'ai.onnx'} is imported {count} times; the last one counts",
                          "keep one opset_import")
        elif domain and domain not in used:
            yield note("opset-unused", "", f"no node uses the domain {domain} that the model imports", "drop the import")


def declared_shapes(at: Subject) -> Iterator[Finding]:
    """Types and shapes that the model declares and that contradict what follows from its operators."""
    makers = {o: n.name for n in at.graph.nodes for o in n.outputs if o}
    for v in {v.name: v for v in (*at.graph.hints.values(), *at.graph.outputs)}.values():
        found = at.facts.get(v.name)
        if found is not None and (wrong := contradiction(v, found)):
            yield warning("declared-shape", makers.get(v.name, ""),
                          f"{v.name} is declared as {wrong[0]}, it is {wrong[1]}",
                          "engines that believe it fail or waste memory; run onnx.shape_inference anew")


def contradiction(declared: Value, found: Fact) -> tuple[str, str] | None:
    """What is declared and what is known where these cannot both be."""
    if declared.type and UNKNOWN not in found.type and declared.type != found.type:
        return declared.type, found.type
    if declared.shape is None or found.shape is None:
        return None
    apart = len(declared.shape) != len(found.shape) or any(
        isinstance(d, int) and isinstance(f, int) and d != f for d, f in zip(declared.shape, found.shape, strict=False))
    return (shown(declared.shape), shown(found.shape)) if apart else None


def shown(shape: Iterable[Any]) -> str:
    return f"[{','.join('?' if d is None else str(d) for d in shape)}]"


def doubles(at: Subject) -> Iterator[Finding]:
    """Constants of 64-bit floats in a model of narrower ones."""
    wide = "tensor(double)"
    ends = {v.type for v in (*at.graph.inputs, *at.graph.outputs)}
    if wide in ends or "tensor(float)" not in {f.type for f in at.facts.values()}:
        return
    found = [name for name, a in at.weights("f") if a.dtype == np.float64]
    computed = [n.name for n in at.graph.nodes if any(o and at.facts.get(o, Fact("")).type == wide for o in n.outputs)
                and n.schema.name not in ("Cast", "Identity", "Constant")]
    if found and computed:
        yield warning("double", computed[0], f"{len(found)} constants are 64-bit floats ({listed(found)}) in a model of "
                      f"32-bit ones, and {len(computed)} nodes compute in 64 bits", "make them 32-bit floats; twice as fast")


def odd_weights(at: Subject) -> Iterator[Finding]:
    """NaN, infinities that are no masks, and denormal numbers among the weights."""
    for name, a in at.weights("f"):
        nans = int(np.isnan(a).sum())
        if nans:
            yield warning("nan-weight", at.reader(name), f"{nans} of {a.size} elements of {name} are NaN",
                          "the training or the conversion went wrong; export again")
            continue
        infinite = a[np.isinf(a)]
        if infinite.size and a.size > 1 and not set(np.unique(a).tolist()) <= {-np.inf, 0.0, np.inf, 1.0}:
            yield warning("inf-weight", at.reader(name), f"{infinite.size} of {a.size} elements of {name} are infinite",
                          "the training or the conversion overflowed; export again")
        if a.dtype != np.float16 and a.size > 1:
            tiny = int(((a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny)).sum())
            if tiny > DENORMAL_SHARE * a.size:
                yield warning("denormal-weight", at.reader(name), f"{tiny} of {a.size} elements of {name} are denormal, which "
                              "many processors multiply a hundred times slower", "set them to zero")


def quantization(at: Subject) -> Iterator[Finding]:
    """Scales that are zero or no numbers."""
    for node in at.graph.walk():
        if node.schema.name in ("QuantizeLinear", "DequantizeLinear") and len(node.inputs) > 1:
            scale = at.graph.constants.get(node.inputs[1])
            if isinstance(scale, np.ndarray) and not (np.isfinite(s := scale.astype(np.float32)) & (s != 0)).all():
                yield warning("zero-scale", node.name, f"its scale {node.inputs[1]} has elements that are 0, infinite or NaN",
                              "quantise again with data that reach this layer")


def training(at: Subject) -> Iterator[Finding]:
    """Nodes that work as in training: their results are random, or depend on the rest of the batch."""
    for node in at.graph.walk():
        mode = node.inputs[2] if node.schema.name == "Dropout" and len(node.inputs) > 2 else ""
        value = at.graph.constants.get(mode)
        dropping = isinstance(value, np.ndarray) and value.size == 1 and bool(value.item())
        if dropping or node.schema.name == "BatchNormalization" and node.attributes.get("training_mode"):
            yield warning("training-mode", node.name, f"{node.schema.name} works as in training",
                          "export the model after model.eval()")


def sizes(at: Subject) -> Iterator[Finding]:
    """Values that are larger than the memory of most machines."""
    for node in at.graph.nodes:
        for o in node.outputs:
            fact = at.facts.get(o)
            if fact is None or fact.shape is None or not fact.type.startswith("tensor(") or not all(
                    isinstance(d, int) for d in fact.shape):
                continue
            size = int(np.prod([float(d) for d in fact.shape if isinstance(d, int)])) * (
                1 if UNKNOWN in fact.type else max(fact.dtype.itemsize, 1))
            if size > LARGEST * 4:
                yield warning("huge-value", node.name, f"{o} takes {size / 2**30:.1f} GiB",
                              "see whether its declared sizes are meant")


def listed(names: list[str]) -> str:
    """A few names."""
    return ", ".join(names[:3]) + (" …" if len(names) > 3 else "")


LINTS: tuple[Lint, ...] = (never_read, names, initializers_as_inputs, versions, declared_shapes, doubles, odd_weights,
                           quantization, training, sizes)
