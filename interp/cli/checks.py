"""Whether outputs are what they should be, and where they are not."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zipfile import ZipFile

import numpy as np

from interp.cli import specs
from interp.cli.show import described, number
from interp.distance import tensors as parts
from interp.errors import InputError, nearest


@dataclass(frozen=True)
class Verdict:
    """What comparing one output came to: the sentence, and how far off it is."""

    name: str
    ok: bool
    text: str
    wrong: int = 0
    largest: float = 0.0


def expectations(place: str, values: list[Any], outputs: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name, value and what an archive or a folder expects, of the outputs that there are; an unknown name is an error."""
    names = [v.name for v in values]
    made = {**outputs, **{key: array for name, value in outputs.items() for key, array in parts(name, value)}}
    found = specs.stored(place, "output", values)
    if len(found) == 1 and len(outputs) == 1 and not set(found) & set(made):
        found = dict(zip(outputs, found.values(), strict=True))
    for name, (value, source) in found.items():
        if name in made:
            yield name, made[name], value
        elif name not in names:
            hint = nearest(name, [*outputs, *names]) or f"; --outputs {name} asks for a tensor inside the model"
            raise InputError(f"{source}: the model has no output {name}{hint}")
    if not set(found) & set(made):
        raise InputError(f"{place} expects {', '.join(found)}, none of which is among the outputs asked for")


def compare(name: str, got: Any, due: Any, rtol: float, atol: float) -> Verdict:
    """Whether |got - due| <= atol + rtol * |due| everywhere; NaN equals NaN, strings are equal or not."""
    if isinstance(due, list | tuple) and isinstance(got, list | tuple) and len(due) == len(got):
        items = [compare(f"{name}[{i}]", g, d, rtol, atol) for i, (g, d) in enumerate(zip(got, due, strict=True))]
        return next((v for v in items if not v.ok), Verdict(name, True, f"all {len(items)} items match"))
    if isinstance(due, dict) and isinstance(got, dict) and due.keys() == got.keys():
        return compare(name, np.array(list(got.values())), np.array([due[k] for k in got]), rtol, atol)
    if not (isinstance(got, np.ndarray) and isinstance(due, np.ndarray)):
        return Verdict(name, got is due is None, "nothing, as expected" if got is due is None
                       else f"is {described(got)}, expected {described(due)}")
    if got.shape != due.shape or storable(got).dtype != storable(due).dtype:
        return Verdict(name, False, f"is {described(got)}, expected {described(due)}")
    return _elements(name, got, due, rtol, atol)


def _elements(name: str, got: np.ndarray, due: np.ndarray, rtol: float, atol: float) -> Verdict:
    if got.dtype.kind in "OUSb":
        off, distance = got != due, np.zeros(got.shape)
    else:
        off, distance = _apart(wide(got), wide(due), rtol, atol)
    if not off.any():
        largest = float(distance.max(initial=0))
        return Verdict(name, True, f"matches, largest difference {number(largest)}", 0, largest)
    at = np.unravel_index(np.where(off, np.where(np.isnan(distance), np.inf, distance), -1).argmax(), got.shape)
    where = f"at [{','.join(map(str, at))}]: got {got[at]!s}, expected {due[at]!s}"
    text = f"{off.sum()} of {off.size} values differ by more than {number(rtol)} relative + {number(atol)}"
    if got.dtype.kind in "OUSb":
        return Verdict(name, False, f"{off.sum()} of {off.size} values differ, first {where}", int(off.sum()))
    return Verdict(name, False, f"{text}; largest difference {number(distance[at])} {where}", int(off.sum()), float(distance[at]))


def wide(array: np.ndarray) -> np.ndarray:
    """Numbers in a type that holds every integer of 64 bits, where the machine has one."""
    return array if array.dtype.kind == "c" else array.astype(np.longdouble)


def _apart(got: np.ndarray, due: np.ndarray, rtol: float, atol: float) -> tuple[np.ndarray, np.ndarray]:
    """Which elements are too far apart, and how far apart all are."""
    with np.errstate(invalid="ignore"):
        same = (got == due) | (np.isnan(got) & np.isnan(due))
        distance = np.where(same, 0, np.abs(got - due))
        return ~same & ~((distance <= atol + rtol * np.abs(due)) & np.isfinite(due)), distance


def storable(array: np.ndarray) -> np.ndarray:
    """An array as NumPy's files hold it: bfloat16 and smaller floats as float32, 4-bit integers as int8, strings as text."""
    if array.dtype.kind == "O":
        return array.astype(str)
    if array.dtype.kind == "V" or array.dtype.type.__module__ != "numpy":
        return array.astype(np.int8 if "int" in array.dtype.name else np.float32)
    return array


def file_name(key: str) -> str:
    """A name as a file in a folder can have it."""
    return key.translate(dict.fromkeys(map(ord, "/\\:\0"), "_"))


def has_nan(value: Any, infinite: bool = False) -> bool:
    """Whether there is NaN in a value, or if ``infinite`` infinity."""
    numbers = [array for _, array in parts("", value) if array.dtype.kind not in "biuOUS" and "int" not in array.dtype.name]
    return any(not np.isfinite(a).all() if infinite else bool(np.isnan(a).any()) for a in numbers)


def save_archive(place: Any, arrays: dict[str, np.ndarray]) -> None:
    """Write an .npz file. NumPy's own function takes names as keywords, of which some are its own."""
    with ZipFile(place, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
