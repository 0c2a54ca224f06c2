"""Which function runs which versions of an operator, and in which layer it was added."""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from .errors import UnsupportedOperator, UnsupportedType, UnsupportedVersion
from .record import fields, record, replace
from .schema import Parameter, Schema, parameters_of, versions
from .types import EVERY

EXTRAS = frozenset(("out", "outputs", "constant"))


@record(frozen=True, eq=False)
class Op:
    """A function for some versions of an operator.

    One that asks for ``out`` gets the buffers to fill and returns a step (or a callable, run from Python); any other returns
    its results: an array, or a tuple where the operator has several outputs.
    """

    name: str
    since: int
    through: int | None
    run: Callable
    shape: Callable | None
    domain: str = ""
    types: dict[str, frozenset[str]] | frozenset[str] | None = None
    view: int | None = None
    inplace: tuple[int, ...] = ()
    known: tuple[str, ...] = ()
    joins: str = ""
    wants: frozenset[str] = frozenset()
    counted: bool = False  # whether the shape rule asks how many outputs the node has
    refers: tuple[str, ...] = ()  # attributes that name values of the graph
    cells: bool = False  # whether strings, maps and sequences come and go in Cells, so that a step can be bound to them
    signature: str = ""  # the parameters of an operator that the standard does not have
    others: tuple[Op, ...] = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, as Python would."""
        return self.run(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """By the name of its function, which stands for the operators declared with it; else part by part."""
        module, name = (getattr(self.run, of, "") for of in ("__module__", "__qualname__"))
        for k, o in enumerate(declared_as(module, name)):
            if o.run is self.run and (o.domain, o.name, o.range) == (self.domain, self.name, self.range):
                return _declared, (module, name, k)
        return Op, tuple(getattr(self, name) for name in fields(Op))

    def serves(self, version: int) -> bool:
        return self.since <= version and (self.through is None or version <= self.through)

    @property
    def range(self) -> str:
        return f"{self.since}-{self.through or ''}" if self.through != self.since else str(self.since)

    @cache  # noqa: B019 - operators are there for good
    def takes(self, schema: Schema) -> dict[str, frozenset[str]]:
        """The types in force for each constraint of a schema: what it allows and what the function can do."""
        if self.types is None:
            return schema.types
        first = schema.inputs[0].type if schema.inputs else next(iter(schema.types), "")
        mine = self.types if isinstance(self.types, dict) else {first: self.types}
        return {k: v & mine.get(k, v) for k, v in schema.types.items()}


def declared_as(module: str | None, name: str) -> tuple[Op, ...]:
    """The operators that a module holds under the name of their function, if it does."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return (found, *found.others) if isinstance(found, Op) else ()


def _declared(module: str, name: str, position: int) -> Op:
    """The operator that a pickle names."""
    import_module(module)
    found = declared_as(module, name)
    if position >= len(found):
        raise AttributeError(f"module {module} has no operator {name}, or another one")
    return replace(found[position], others=())


def op(name: str, since: int = 1, through: int | None = None, *, shape: Callable | None = None, domain: str = "",
       types: Any = None, view: int | None = None, inplace: tuple[int, ...] = (), known: tuple[str, ...] = (),
       joins: str = "", refers: tuple[str, ...] = (), cells: bool = False, signature: str = "") -> Callable[[Callable], Op]:
    """Declare the function below as an operator, for the schema versions ``since`` to ``through``.

    ``shape(*facts, **attributes)`` returns the outputs' shapes, a list of tuples (or of Facts, where the type does not follow
    from the schema), and gets the number of outputs if it asks for ``outputs``; without one, only a run tells the sizes.
    ``types`` are the element types that the function can do, of the first type constraint or by constraint; ``view=i``
    says that the output is the storage of input i, ``inplace=(i,)`` that it may overwrite it; ``known`` names the inputs
    whose values are needed to bind, ``joins`` the attribute with the axis along which all inputs come one after the other,
    ``refers`` attributes that name values of the graph, ``cells`` says that what is no plain array comes, and goes to
    ``out``, in Cells. An operator that the standard does not have may say more of its parameters than the function does by a
    ``signature``, "x: T, scale?: F -> y: T" (`interp.schema.parameters_of`).
    Declarations stack: the same function may serve several operators or ranges.
    What is declared is registered nowhere; `Registry.add` does that.

        @op("Hat", domain="mine", shape=lambda x: [x.shape])
        def hat(x):
            return np.maximum(0, 1 - np.abs(x))
    """
    def declare(run: Callable) -> Op:
        others: tuple[Op, ...] = ()
        if isinstance(run, Op):
            others, run = (run, *run.others), run.run
        wants = EXTRAS.intersection(names_of(run))
        counted = shape is not None and "outputs" in names_of(shape)
        return Op(name, since, through, run, shape, domain, types, view, inplace, known, joins, wants, counted,
                  refers, cells, signature, others)
    return declare


def names_of(function: Callable) -> Iterable[str]:
    """The names of a function's parameters, without a signature where there is a quicker way."""
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return inspect.signature(function).parameters
    return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]


def ops_of(module: Any) -> Iterator[Op]:
    """The operators that a module holds, in the order in which they stand there."""
    for made in vars(module).values():
        if isinstance(made, Op):
            yield made


class Layer(dict[tuple[str, str], list[Op]]):
    """Operators by domain and name."""

    def at(self, domain: str, name: str) -> Sequence[Op]:
        """The operators of one name."""
        return self.get((domain, name), ())

    def names(self) -> Iterable[tuple[str, str]]:
        """Domain and name of every operator."""
        return list(self)

    def put(self, ops: Iterable[Op]) -> None:
        """Add operators; ranges of one operator may not overlap."""
        for made in (replace(each, others=()) for o in ops for each in (o, *o.others)):
            own = self.setdefault((made.domain, made.name), [])
            for old in own:
                if made.serves(old.since) or old.serves(made.since):
                    raise ValueError(f"{made.name} {made.range} overlaps {old.range}, declared before")
            own.append(made)


class Registry:
    """Operators by domain and name; one made over another falls back to it, so that a layer can replace or add."""

    def __init__(self, *below: Registry, own: Layer | None = None):
        self._layers: list[Layer] = [Layer() if own is None else own, *(layer for r in below for layer in r._layers)]

    @property
    def own(self) -> Layer:
        """The operators of the uppermost layer alone."""
        return self._layers[0]

    def add(self, *ops: Op) -> Registry:
        """Register operators in this layer, and return it. Raises ValueError where ranges of one operator overlap."""
        self._layers[0].put(ops)
        return self

    def __iter__(self) -> Iterator[Op]:
        names = {key for layer in self._layers for key in layer.names()}
        return (o for key in sorted(names) for o in self._visible(*key))

    def _visible(self, domain: str, name: str) -> list[Op]:
        """Operators of every layer, the uppermost first."""
        return [o for layer in self._layers for o in layer.at(domain, name)]

    def find(self, schema: Schema) -> Op:
        """The operator for one version of a schema; past its newest range also where versions since only widened types.

        Raises UnsupportedOperator where nobody has the name, UnsupportedVersion, which tells the ranges, where nobody has the
        version.
        """
        ops = self._visible(schema.domain, schema.name)
        for o in ops:
            if o.serves(schema.since):
                return o
        newest = max(ops, key=lambda o: o.through or 0, default=None)
        if newest is None:
            raise UnsupportedOperator(f"no kernel for {schema}; add one with --kernels FILE.py or registry.add(op(...))")
        if newest.through and schema.since > newest.through:
            steps = [v for v in versions(schema.name, schema.domain) if newest.through <= v.since <= schema.since]
            if all(b.only_widens(a) for a, b in zip(steps, steps[1:], strict=False)):
                return newest
        raise UnsupportedVersion(f"{schema}: this package has {', '.join(o.range for o in ops)}")

    def declared(self, domain: str, name: str) -> Schema | None:
        """A schema read off the function of an operator that the standard does not have; None where nobody has it."""
        for o in self._visible(domain, name):
            return _schema_of(o)
        return None


@cache
def _schema_of(o: Op) -> Schema:
    """A schema for an operator without one: its attributes are the function's keywords, parameters as declared or read off it.

    A function that takes any keywords may list them as its ``attributes``, which need not be names in Python then.
    """
    defaults: dict[str, Any] = dict.fromkeys(getattr(o.run, "attributes", ()))
    required: set[str] = set()
    for p in inspect.signature(o.run).parameters.values():
        if p.kind is p.KEYWORD_ONLY and p.name not in EXTRAS:
            defaults[p.name] = None if p.default is p.empty else p.default
            if p.default is p.empty:
                required.add(p.name)
    inputs, outputs = parameters_of(o.signature) if o.signature else _parameters(o)
    given = o.types if isinstance(o.types, dict) else {inputs[0].type: o.types} if o.types and inputs else {}
    constraints = {p.type for p in (*inputs, *outputs) if "(" not in p.type}
    types = {c: given.get(c, EVERY) for c in constraints}
    least = max((i + 1 for i, p in enumerate(inputs) if not (p.optional or p.variadic)), default=0)
    return Schema(o.domain, o.name, o.since, inputs, outputs, defaults, frozenset(required), types, least=least)


def _parameters(o: Op) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """What a function's own parameters tell: inputs of any types, and outputs of the first one's."""
    given = [p for p in inspect.signature(o.run).parameters.values()
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    inputs = tuple(Parameter(p.name, f"T{i}", p.default is not p.empty, p.kind is p.VAR_POSITIONAL, False)
                   for i, p in enumerate(given))
    return inputs, (Parameter("outputs", "T0", False, "outputs" in o.wants),)


def check_types(node: str, schema: Schema, op: Op, given: dict[str, str]) -> None:
    """Refuse element types by name; ``given`` has the type of each constraint."""
    in_force = op.takes(schema)
    for constraint, t in given.items():
        if f"optional({t})" in in_force.get(constraint, ()):  # in a run an optional that has a value looks like it
            continue
        if t not in schema.types.get(constraint, (t,)):
            raise UnsupportedType(f"{node}: {schema} does not allow {t}; it allows {_listed(schema.types[constraint])}")
        if t not in in_force.get(constraint, (t,)):
            raise UnsupportedType(f"{node}: {schema} is not supported for {t}; supported: {_listed(in_force[constraint])}")


def _listed(types: Iterable[str]) -> str:
    return ", ".join(sorted(types)) or "none"


def misfits(o: Op) -> Iterator[str]:
    """Where an operator's function and the schemas that it claims disagree."""
    history = (_schema_of(o),) if o.signature else versions(o.name, o.domain)
    since = {v.since for v in history}
    if not o.signature and (o.since not in since or o.through not in since):
        yield f"{o.name}: {o.range} are not both schema versions"
    parameters = inspect.signature(o.run).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        yield f"{o.name}: **attributes would swallow what the function ignores"
    names = {p.name for p in parameters}
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY} - EXTRAS
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    for v in history:
        if o.serves(v.since):
            if missing := set(v.defaults) - names:
                yield f"{v}: no parameter for {sorted(missing)}"
            if absent := needed - set(v.defaults):
                yield f"{v}: {sorted(absent)} needs a default, the schema has no such attribute"
            if len(v.inputs) > len(positional) and not variadic:
                yield f"{v}: {len(v.inputs)} inputs, the function takes {len(positional)}"
