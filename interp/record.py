"""Records: classes of named fields, as those of `dataclasses`, which takes ten times as long to make one.

That, and its own import, is a good part of what a small model takes to start.
"""
from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, overload

T = TypeVar("T")
C = TypeVar("C", bound=type)

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_):
        return lambda decorator: decorator


class _Made:
    """A default that every record gets one of its own of."""

    def __init__(self, default_factory: Callable[[], Any]):
        self.make = default_factory


def field(*, default_factory: Callable[[], Any]) -> Any:
    """A field whose default is made anew for each record."""
    return _Made(default_factory)


@overload
def record(cls: C) -> C: ...
@overload
def record(*, frozen: bool = False, eq: bool = True) -> Callable[[C], C]: ...
@dataclass_transform(field_specifiers=(field,))
def record(cls: Any = None, *, frozen: bool = False, eq: bool = True) -> Any:
    """Give a class a constructor that takes its annotated fields in order, a repr, and comparison by fields.

    The constructor ends with ``__post_init__`` where there is one. With ``eq=False`` a record equals itself alone. ``frozen``
    ones are hashed by their fields; that nothing is set in them is for the type checker to see to.
    """
    if cls is None:
        return lambda cls: _recorded(cls, frozen, eq)
    return _recorded(cls, frozen, eq)


def _recorded(cls: type, frozen: bool, eq: bool) -> type:
    names = fields(cls)
    cls.__init__ = _constructor(cls, names)  # type: ignore[misc]
    values = attrgetter(*names) if len(names) > 1 else lambda made: (getattr(made, names[0]),)
    if "__repr__" not in vars(cls):
        cls.__repr__ = _shown  # type: ignore[method-assign, assignment]
    if eq:
        def equal(self: Any, other: object) -> Any:
            return values(self) == values(other) if type(other) is type(self) else NotImplemented

        cls.__eq__ = equal  # type: ignore[method-assign, assignment]
        if vars(cls).get("__hash__") is None:
            cls.__hash__ = (lambda self: hash(values(self))) if frozen else None  # type: ignore
    return cls


def _constructor(cls: type, names: tuple[str, ...]) -> Any:
    """An ``__init__`` that sets the fields; what they default to stays in the class, made ones aside."""
    given: dict[str, Any] = {}
    parameters, lines = ["self"], []
    for name in names:
        default = vars(cls).get(name, given)
        parameters.append(name if default is given else f"{name}=_{name}")
        lines.append(f"  self.{name} = {name}")
        if default is not given:
            given[f"_{name}"] = default
        if isinstance(default, _Made):
            given[f"_{name}_made"] = default.make
            lines[-1] += f" if {name} is not _{name} else _{name}_made()"
            delattr(cls, name)
    if "__post_init__" in vars(cls):
        lines.append("  self.__post_init__()")
    scope: dict[str, Any] = {}
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines), given, scope)
    return scope["__init__"]


def _shown(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{n}={getattr(self, n)!r}' for n in fields(type(self)))})"


def fields(cls: type) -> tuple[str, ...]:
    """The names of a record's fields."""
    return tuple(vars(cls)["__annotations__"])


def replace(made: T, **changes: Any) -> T:
    """A record with other values in some of its fields."""
    new = object.__new__(type(made))
    if not changes.keys() <= vars(made).keys():
        raise TypeError(f"{type(made).__name__} has no field {', '.join(changes.keys() - vars(made).keys())}")
    new.__dict__.update(vars(made), **changes)
    return new


def astuple(made: Any) -> tuple[Any, ...]:
    """The values of a record's fields."""
    return tuple([getattr(made, name) for name in fields(type(made))])
