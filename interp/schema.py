"""ONNX operator schemas, as this package reads them."""
from __future__ import annotations

import marshal
from functools import cache
from typing import Any

from .errors import UnsupportedOperator
from .frozen import of_onnx
from .record import astuple, field, fields, record


@record(frozen=True)
class Parameter:
    """A formal input or output: its type (a constraint's name, or a type), and how often it comes."""

    name: str
    type: str
    optional: bool = False
    variadic: bool = False
    homogeneous: bool = True


@record(frozen=True)
class Schema:
    """One version of one operator: its parameters, attribute defaults (None where there is none) and element types."""

    domain: str
    name: str
    since: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    defaults: dict[str, Any]
    required: frozenset[str]
    types: dict[str, frozenset[str]]
    deprecated: bool = False
    least: int = 0  # how many inputs a node has at the least
    prose: str = ""  # a digest of what the standard says in words
    random: bool = False  # whether the standard calls it non-deterministic: such nodes are never folded
    kinds: dict[str, str] = field(default_factory=dict)  # attribute: INT, FLOATS, GRAPH …

    def __hash__(self) -> int:
        return hash((self.domain, self.name, self.since))

    def __str__(self) -> str:
        return f"{self.domain + ':' if self.domain else ''}{self.name}-{self.since}"

    @property
    def several(self) -> bool:
        """Whether a node of this operator may have more than one output."""
        return len(self.outputs) != 1 or self.outputs[0].variadic

    def parameter(self, formal: tuple[Parameter, ...], position: int) -> Parameter | None:
        """The formal parameter at a position; the last one goes on where it is variadic."""
        if position < len(formal):
            return formal[position]
        return formal[-1] if formal and formal[-1].variadic else None

    def allowed(self, parameter: Parameter) -> frozenset[str]:
        """The types that a parameter may have."""
        return self.types.get(parameter.type, frozenset((parameter.type,)))

    def only_widens(self, older: Schema) -> bool:
        """Whether every call of ``older`` means the same in this version: only its types may have widened, its prose stays."""
        return (self.prose == older.prose and self.inputs == older.inputs and self.outputs == older.outputs
                and self.defaults == older.defaults and self.required == older.required and self.kinds == older.kinds
                and all(self.types.get(k, frozenset()) >= v for k, v in older.types.items()))


def parameters_of(text: str) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """The inputs and outputs that a text declares.

    "x: T, zero?: T, *rest: T, axes: tensor(int64) -> y: T, mean?: U" has optional parameters (?), variadic ones (*, or ** where
    each may have a type of its own), constraints by name, and types that are always the same.
    """
    found = [tuple(_parameter(p.strip(), text) for p in half.split(",") if p.strip()) for half in text.split("->")]
    if len(found) != 2:
        raise ValueError(f"a signature has inputs, an arrow and outputs, not {text!r}")
    return found[0], found[1]


def _parameter(given: str, text: str) -> Parameter:
    name, colon, kind = (p.strip() for p in given.partition(":"))
    if not colon or not kind or not name.lstrip("*").rstrip("?").isidentifier():
        raise ValueError(f"{given!r} is no parameter of a signature; one is written as in 'x: T', 'x?: T' or '*x: T' ({text!r})")
    return Parameter(name.lstrip("*").rstrip("?"), kind, name.endswith("?"), name.startswith("*"), not name.startswith("**"))


def plain(value: Any) -> Any:
    """An attribute's value as functions get it: text for bytes, tuples for lists."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, list | tuple):
        return value
    kinds = {*map(type, value)}
    if kinds == {bytes}:  # most are there many times
        return tuple(map({v: plain(v) for v in set(value)}.__getitem__, value))
    return tuple(value) if kinds <= {int, float, str} else tuple(map(plain, value))


@cache
def schema(name: str, opset: int, domain: str = "") -> Schema:
    """The schema in force for an operator at an opset."""
    since = max((s for s in _history().get((domain, name), ()) if s <= opset), default=None)
    if since is None:
        raise UnsupportedOperator(_unknown(name, opset, domain))
    return _version(domain, name, since)


@cache
def versions(name: str, domain: str = "") -> tuple[Schema, ...]:
    """Every version of an operator, oldest first; empty where the standard has no such operator."""
    return tuple(_version(domain, name, since) for since in _history().get((domain, name), ()))


@cache
def newest_versions() -> dict[str, int]:
    """The newest version that onnx knows of each domain of the standard."""
    kept = of_onnx()
    return kept["newest"] if kept is not None else newest()


@cache
def _history() -> dict[tuple[str, str], dict[int, Any]]:
    """Every version of every operator, oldest first, as it was written down or as onnx has it."""
    kept = of_onnx()
    return kept["schemas"] if kept is not None else history()


@cache
def _version(domain: str, name: str, since: int) -> Schema:
    kept = _history()[domain, name][since]
    return thawed(kept) if isinstance(kept, bytes) else read(kept)


def thawed(kept: bytes) -> Schema:
    """A schema that was written down."""
    inputs, outputs, *others = marshal.loads(kept)
    return Schema(*others[:3], *(tuple(Parameter(*p) for p in formal) for formal in (inputs, outputs)), *others[3:])


def written(given: Schema) -> bytes:
    """A schema as it is written down."""
    values = [getattr(given, name) for name in fields(Schema) if name not in ("inputs", "outputs")]
    return marshal.dumps([*(tuple(map(astuple, formal)) for formal in (given.inputs, given.outputs)), *values])


def _unknown(name: str, opset: int, domain: str) -> str:
    since = list(_history().get((domain, name), ()))
    where = f"in domain {domain}" if domain else "in ONNX"
    if since:
        return f"{name} came with version {since[0]} of its domain, the model imports {opset}"
    from difflib import get_close_matches

    near = get_close_matches(name, [n for d, n in _history() if d == domain], 1)
    hint = f"did you mean {near[0]}?" if near else "add one with --kernels FILE.py or registry.add(op(...))"
    return f"there is no operator {name} {where}; {hint}"


def history() -> dict[tuple[str, str], dict[int, Any]]:
    """Every version of every operator in onnx, oldest first."""
    from onnx import defs

    found: dict[tuple[str, str], dict[int, Any]] = {}
    for s in sorted(defs.get_all_schemas_with_history(), key=lambda s: s.since_version):
        found.setdefault((s.domain, s.name), {})[s.since_version] = s
    return found


def newest() -> dict[str, int]:
    """The newest version of each domain that onnx knows."""
    from onnx import defs

    found: dict[str, int] = {"": defs.onnx_opset_version(), "ai.onnx.ml": defs.onnx_ml_opset_version()}
    for s in defs.get_all_schemas():
        found[s.domain] = max(found.get(s.domain, 0), s.since_version)
    return found


def read(s: Any) -> Schema:
    """What one of onnx's schemas says."""
    from hashlib import sha256

    from onnx import defs, helper

    option = defs.OpSchema.FormalParameterOption

    def parameters(formal: Any) -> tuple[Parameter, ...]:
        return tuple(Parameter(p.name, p.type_str, p.option == option.Optional, p.option == option.Variadic, p.is_homogeneous)
                     for p in formal)

    return Schema(
        s.domain, s.name, s.since_version, parameters(s.inputs), parameters(s.outputs),
        {k: plain(helper.get_attribute_value(a.default_value)) if a.default_value.name else None
         for k, a in s.attributes.items()},
        frozenset(k for k, a in s.attributes.items() if a.required),
        {c.type_param_str: frozenset(c.allowed_type_strs) for c in s.type_constraints},
        s.deprecated, s.min_input, sha256(" ".join(s.doc.split()).encode()).hexdigest()[:16],
        s.node_determinism == defs.OpSchema.NodeDeterminism.NonDeterministic,
        {k: a.type.name for k, a in s.attributes.items()})
