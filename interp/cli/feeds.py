"""The inputs of a run: read from what the user gave, made from a seed where nothing was given."""
from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from interp.cli import specs
from interp.errors import InputError, UsageError, nearest_or_all
from interp.feeding import check_sizes
from interp.guessing import Key, Shape, axes, guessed

Notice = Callable[[str], None]


@dataclass(frozen=True)
class Feed:
    """One input and where it came from."""

    name: str
    value: Any
    source: str


def collect(session: Any, args: argparse.Namespace, notice: Notice) -> list[Feed]:
    """A feed for every input of a session, and for the initializers that the user overrides; notices of what sizes they take."""
    feeds, sizes = _gathered(session, args, {})
    if sizes.taken:
        shapes = {f.name: sizes.shapes.get(f.name, f.value.shape) for f in feeds if hasattr(f.value, "shape")}
        found = guessed(session.graph, shapes, {f.name: f.value for f in feeds})
        if found != sizes.taken:
            feeds, sizes = _gathered(session, args, found)
    for text in sizes.notices():
        notice(text)
    pictures = [f for f in feeds if f.source.lower().endswith(specs.IMAGES)]
    args.advice = " ".join(filter(None, [sizes.advice(), "--resize HxW" if pictures and args.resize is None else ""]))
    return feeds


def _gathered(session: Any, args: argparse.Namespace, guesses: Mapping[Key, int]) -> tuple[list[Feed], Sizes]:
    """The feeds, with guesses for sizes that are open, and what was taken from those."""
    known = {v.name: v for v in [*session.inputs, *session.overridable]}
    texts = dict(_named(text, session, known) for text in args.input)
    for name in [name for name, _ in [*args.shape, *args.range] if name is not None]:
        if name not in known:
            raise UsageError(f"the model has no input {name}{nearest_or_all(name, known)}")
    sizes = Sizes(known.values(), args.dim, guesses)
    shapes = dict(args.shape)
    for name, shape in shapes.items():
        sizes.learn(known[name], np.broadcast_to(0, shape))
    feeds = [Feed(name, value, source) for name, value, source in _data(args.data, session, texts)]
    for feed in feeds:
        sizes.learn(known[feed.name], feed.value)
    # What has a shape of its own comes first: the rest takes its sizes from there.
    for name, text in sorted(texts.items(), key=lambda item: not specs.has_shape(item[1])):
        value = known[name]
        shape = shapes[name] if name in shapes else sizes.so_far(value)
        array, source = specs.read(text, value, shape, _settings(name, args), partial(sizes.of, value))
        sizes.learn(value, array)
        feeds.append(Feed(name, array, source))
    given = {f.name for f in feeds}
    for value in session.inputs:
        if value.name not in given:
            shape = shapes[value.name] if value.name in shapes else sizes.of(value)
            feeds.append(_made(value, shape, _settings(value.name, args)))
    order = list(known)
    return sorted(feeds, key=lambda f: order.index(f.name)), sizes


def _named(text: str, session: Any, known: dict[str, Any]) -> tuple[str, str]:
    """NAME=SPEC; the name may be left out where there is one input."""
    name, given, spec = text.partition("=")
    while given and name not in known and "=" in spec:  # a name may hold an equals sign
        more, given, spec = spec.partition("=")
        name = f"{name}={more}"
    if name in known and given:
        return name, spec
    if not given and len(session.inputs) == 1:
        return session.inputs[0].name, text
    if not given:
        raise UsageError(f"-i {text}: which input? NAME={text}{nearest_or_all(text, known)}")
    name = text.partition("=")[0]
    raise UsageError(f"-i {text}: the model has no input {name}{nearest_or_all(name, known)}")


def _settings(name: str, args: argparse.Namespace) -> specs.Settings:
    limits = dict(args.range)
    rng = np.random.default_rng([args.seed, zlib.crc32(name.encode())])  # so that an input does not depend on the others
    return specs.Settings(limits.get(name, limits.get(None)), rng, args.seed, args.resize, args.layout, args.mean, args.std)


class Sizes:
    """What the open sizes of a model's inputs stand for: said, seen in a feed, or else guessed; 1 where there is no guess."""

    def __init__(self, values: Iterable[Any], said: Iterable[tuple[str, int]], guesses: Mapping[Key, int]):
        self.sizes = dict(said)
        check_sizes(self.sizes, list(values))
        self.guesses = guesses
        self.taken: dict[Key, int] = {}
        self.shapes: dict[str, Shape] = {}  # of inputs in which something was taken; a number or what it was taken for
        self.rankless: list[str] = []

    def so_far(self, value: Any) -> tuple[int | None, ...] | None:
        """A shape with None for the sizes that nobody has said or shown yet."""
        if value.shape is None:
            return None
        return tuple((None if d in self.taken else self.sizes.get(d)) if isinstance(d, str) else d for d in value.shape)

    def of(self, value: Any) -> tuple[int, ...]:
        """A whole shape; what is open is guessed."""
        if value.shape is None:
            self.rankless.append(value.name)
            return ()
        shape = tuple(self.sizes.get(d, d) if isinstance(d, str) and d not in self.taken else d
                      for d in axes(value.shape, value.name))
        self.taken |= {d: self.guesses.get(d, 1) for d in shape if not isinstance(d, int)}
        self.sizes |= {d: self.taken[d] for d in shape if isinstance(d, str)}
        self.shapes[value.name] = shape
        return tuple(d if isinstance(d, int) else self.taken[d] for d in shape)

    def notices(self) -> Iterator[str]:
        """What was taken for what, and what sets it."""
        for name in self.rankless:
            yield f"{name}: the model does not say its rank, taken as a scalar; --shape {name}=… sets it"
        for key, size in self.taken.items():
            if isinstance(key, str):
                yield f"{key} is not given, taken as {size}{tried([size])}; -d {key}=SIZE sets it"
        for name, shape in self.shapes.items():
            found = {d[1]: self.taken[d] for d in shape if isinstance(d, tuple)}
            if found:
                one, sizes = len(found) == 1, found.values()
                whole = ",".join(str(d if isinstance(d, int) else self.taken[d]) for d in shape)
                yield (f"ax{'i' if one else 'e'}s {listed(found)} of {name} {'has' if one else 'have'} no size, taken as "
                       f"{listed(sizes)}{tried(sizes)}; --shape {name}={whole} sets {'it' if one else 'them'}")

    def advice(self) -> str:
        """What sets all that was taken."""
        whole = [f"--shape {name}={','.join(str(d) if isinstance(d, int) else 'SIZE' for d in shape)}"
                 for name, shape in self.shapes.items() if any(isinstance(d, tuple) for d in shape)]
        return " ".join([*(f"-d {key}=SIZE" for key in self.taken if isinstance(key, str)), *whole,
                         *(f"--shape {name}=SIZE,…" for name in self.rankless)])

    def learn(self, value: Any, array: Any) -> None:
        """Take names' sizes from a tensor; two that differ are an error."""
        shape = getattr(array, "shape", None)
        if value.shape is None or shape is None or len(value.shape) != len(shape):
            return
        for d, size in zip(value.shape, shape, strict=True):
            if isinstance(d, str) and self.sizes.setdefault(d, size) != size:
                raise InputError(f"{value.name}: {d} is {size} here and {self.sizes[d]} elsewhere")


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def tried(sizes: Iterable[int]) -> str:
    """What there is to say of sizes beside 1."""
    return "" if set(sizes) == {1} else ", the first tried that fits"


def _made(value: Any, shape: tuple[int, ...], settings: specs.Settings) -> Feed:
    """What an input holds that nobody gave."""
    if not value.type.startswith("tensor("):
        how = f"FILE.json or -i '{value.name}={specs.example(value.type)}'"
        raise InputError(f"{value.name}: nothing is made for the type {value.type}; give it with -i {value.name}={how}")
    dtype = specs.dtype_of(value)
    with specs.making(shape):
        if value.name.endswith("_mask"):
            return Feed(value.name, np.ones(shape, dtype), "ones")
        if value.name.endswith("_ids"):
            return Feed(value.name, np.zeros(shape, dtype), "zeros")
        if dtype.kind == "O":
            return Feed(value.name, np.full(shape, "", object), "empty strings")
    return Feed(value.name, specs.random(dtype, shape, settings), settings.said())


def _data(place: str | None, session: Any, texts: dict[str, str]) -> Iterable[tuple[str, Any, str]]:
    """Inputs of an archive or a folder that no -i replaces."""
    if place is None:
        return
    found = specs.stored(place, "input", session.inputs)
    known = [v.name for v in [*session.inputs, *session.overridable]]
    for name, (value, source) in found.items():
        if name not in known:
            raise InputError(f"{source}: the model has no input {name}{nearest_or_all(name, known)}")
        if name not in texts:
            yield name, value, source
