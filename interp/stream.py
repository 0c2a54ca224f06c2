"""Runs that follow each other: a stream carries the state of recurrent models, and the caches of transformers, between them."""
from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from .call import duplicate
from .errors import InputError, UsageError, nearest_or_all
from .feeding import check, several, shown, taken
from .graph import Value
from .types import DTYPE

if TYPE_CHECKING:
    from .session import Session


class Stream:
    """A session's runs in a row, each with the state that the last one left. `Session.stream` makes one.

    One stream is one row of runs: calls from several threads take their turns. A run that fails leaves the state as it was.
    """

    def __init__(self, session: Session, state: Mapping[str, str], initial: Mapping[str, Any] | None = None,
                 sizes: Mapping[str, int] | None = None):
        mapping("state", "{output: input}", state)
        self._session, self._fed_by = session, dict(state)
        inputs, outputs = ({v.name: v for v in values} for values in (session.inputs, session.outputs))
        for output, name in self._fed_by.items():
            known("output", output, outputs)
            known("input", name, inputs)
            if list(self._fed_by.values()).count(name) > 1:
                raise UsageError(f"state: the input {name} would come from several outputs")
            kinds = outputs[output].type, inputs[name].type
            if None not in kinds and kinds[0] != kinds[1]:
                raise UsageError(f"state: {output} is {shown(outputs[output])}, {name} takes {shown(inputs[name])}")
        self._inputs = {name: inputs[name] for name in self._fed_by.values()}
        self._others = [v for v in session.inputs if v.name not in self._inputs]
        self._outputs = list(outputs)
        self._names = [name for name in outputs if name not in self._fed_by]
        named = {d for v in session.inputs for d in v.shape or () if isinstance(d, str)}
        self._sizes = {known("size", name, named): whole(name, size) for name, size in mapping(
            "sizes", "{name: size}", sizes or {}).items()}
        self._first = self._checked(initial or {})
        self._turn = Lock()
        self._now: dict[str, Any] = {}
        self.reset()

    def run(self, feeds: Mapping[str, Any], names: Sequence[str] | None = None) -> list[Any]:
        """The outputs that are no state, in the model's order, or those that ``names`` lists, for the inputs that are no state.

        Raises what `Session.run` raises, and InputError in the first run where the size of a state is not known.
        """
        if not isinstance(feeds, Mapping):
            raise InputError(f"feeds are given as {{name: array}}, not as {type(feeds).__name__}")
        for name in self._inputs:
            if name in feeds:
                raise InputError(f"{name} is state, which the stream feeds; reset({{{name!r}: …}}) sets it")
        with self._turn:
            wanted = self._names if names is None else several(names)
            # In the model's order: all of its outputs together need no variant of it.
            asked = [o for o in self._outputs if o in wanted or o in self._fed_by] + [o for o in wanted if o not in self._outputs]
            before = {**self._zeros(self._now, feeds), **self._now}
            made = dict(zip(asked, self._session.run(asked, {**feeds, **before}), strict=True))
            self._now = {name: made[output] for output, name in self._fed_by.items()}
        once = {o for o in made if o not in self._fed_by and wanted.count(o) == 1}
        return [made[o] if o in once else duplicate(made[o]) for o in wanted]

    __call__ = run

    def __copy__(self) -> Stream:
        """A stream that goes on from the same state."""
        made = Stream.__new__(Stream)
        made.__dict__.update(self.__dict__)
        made._turn = Lock()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        raise UsageError("a stream cannot be pickled; pickle its session and its state, from which `reset` of another goes on")

    @property
    def state(self) -> dict[str, Any]:
        """What the next run is fed, by input name: read-only arrays; without what only that run's feeds give a size."""
        with self._turn:
            return {name: read_only(value) for name, value in self._now.items()}

    def reset(self, state: Mapping[str, Any] | None = None) -> None:
        """Begin anew: from the initial state, or from a state such as `state` gave; what that lacks is as at the beginning."""
        begun = {**self._first, **self._checked(state or {})}
        begun |= self._zeros(begun)
        with self._turn:
            self._now = begun

    def _checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of values for states, which are of the declared types and ranks."""
        for name in mapping("a state", "{input: array}", given):
            known("state", name, self._inputs)
        values = {name: taken(self._inputs[name], value) for name, value in given.items()}
        check([self._inputs[name] for name in values], list(values.values()))
        return {name: duplicate(value) for name, value in values.items()}

    def _zeros(self, there: Mapping[str, Any], feeds: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Zeros for the states that are not there. Those whose sizes not even the feeds of a run tell are an error."""
        sizes = {**seen(self._others, feeds or {}), **self._sizes}
        made = {name: nothing(v, sizes) for name, v in self._inputs.items() if name not in there}
        for v in (self._inputs[name] for name, value in made.items() if value is None and feeds is not None):
            unknown = [d for d in v.shape or () if isinstance(d, str) and d not in sizes]
            how = f"give sizes={{{unknown[0]!r}: …}} or " if unknown else "give "
            raise InputError(f"{v.name}: {shown(v)} has no known size to begin with; {how}initial={{{v.name!r}: array}}")
        return {name: value for name, value in made.items() if value is not None}


def mapping(what: str, form: str, given: Any) -> Mapping[str, Any]:
    """What is given by name."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} is given as {form}, not as {type(given).__name__}")
    return given


def whole(name: str, size: Any) -> int:
    """A size that is given for a name."""
    try:
        found = operator.index(size)
    except TypeError:
        found = -1
    if found < 0:
        raise UsageError(f"sizes: {name} is {size!r}; give a whole number from 0 on")
    return found


def known(kind: str, name: str, names: Any) -> str:
    """The name, if there is such an input, output, state or size."""
    if name not in names:
        raise UsageError(f"state: the model has no {kind} {name}{nearest_or_all(name, names)}")
    return name


def seen(values: Sequence[Value], feeds: Mapping[str, Any]) -> dict[str, int]:
    """The named sizes that feeds show."""
    found: dict[str, int] = {}
    for v in values:
        shape = getattr(feeds.get(v.name), "shape", None)
        if v.shape is not None and shape is not None and len(v.shape) == len(shape):
            found.update((d, n) for d, n in zip(v.shape, shape, strict=True) if isinstance(d, str))
    return found


def nothing(value: Value, sizes: Mapping[str, int]) -> Any:
    """Zeros for an input, an empty sequence; None where its type or a size is not known."""
    kind = value.type or ""
    if kind.startswith("seq("):
        return []
    shape = tuple(sizes.get(d) if isinstance(d, str) else d for d in value.shape) if value.shape is not None else (None,)
    if kind not in DTYPE or None in shape:
        return None
    try:
        return np.full(shape, "" if kind == "tensor(string)" else 0, DTYPE[kind])
    except (ValueError, MemoryError) as e:
        raise UsageError(f"state: {shown(Value(value.name, kind, shape))} for {value.name} has no room: {e}") from e


def read_only(value: Any) -> Any:
    """A view of an array that cannot be written; lists of such."""
    if isinstance(value, list):
        return list(map(read_only, value))
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value
