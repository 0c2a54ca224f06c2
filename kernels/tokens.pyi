"""Strings changed, left out or cut into tokens: steps over Cells."""
from collections.abc import Callable, Collection, Iterable
from typing import Any

from .step import Later

def normalised(x: Any, stops: Collection[str], fold: Callable[[str], str] | None, change: Callable[[str], str] | None,
               y: Any) -> Later: ...

class Runs:
    def __init__(self, letters: Iterable[str], but: bool, alone: bool, other: Callable[[str], list[str]]) -> None: ...
    def __call__(self, text: str) -> list[str]: ...

def tokens(x: Any, cut: Callable[[str], list[str]], least: int, pad: str, marks: tuple[str, str] | None, y: Any) -> Later: ...
