"""Regular expressions, as RE2 reads them: the standard asks for its syntax, and its time is linear in the text."""
from __future__ import annotations

import re
from string import ascii_letters
from typing import Any, NamedTuple

from .once import once


@once
def compiled(pattern: str, longest: bool = False) -> Any:
    """A pattern of RE2, over UTF-8; ``longest`` finds the longest match at a place, not the first that the pattern means."""
    try:
        import re2
    except ImportError as e:
        raise ValueError('patterns are matched by RE2, which is not installed: pip install "onnx-interp[text]"') from e
    options = re2.Options()
    options.longest_match, options.log_errors = longest, False
    try:
        return re2.compile(encoded(pattern), options)
    except re2.error as e:
        reason = e.args[0].decode() if e.args and isinstance(e.args[0], bytes) else e
        raise ValueError(f"{pattern!r} is no pattern of RE2: {reason}") from None


def encoded(text: str) -> bytes:
    """A text in UTF-8; bytes that were none come back as they were."""
    return text.encode("utf-8", "surrogateescape")


def matches(pattern: Any, text: str) -> bool:
    """Whether a pattern matches the whole of a text."""
    return pattern.fullmatch(encoded(text)) is not None


def spans(pattern: Any, text: str) -> list[tuple[int, int]]:
    """Where a pattern matches, from left to right, as positions in the text; matches of nothing are left out."""
    whole, found, at, seen = encoded(text), [], 0, 0
    for match in pattern.finditer(whole):
        begin, end = match.span()
        if begin < end:
            begins = seen + len(whole[at:begin].decode("utf-8", "surrogateescape"))
            at, seen = end, begins + len(whole[begin:end].decode("utf-8", "surrogateescape"))
            found.append((begins, seen))
    return found


class Characters(NamedTuple):
    """A pattern of one character: one of the letters, or ``but`` those; ``repeated`` as often as it comes."""

    letters: str
    but: bool
    repeated: bool


CLASSES = {"d": "0123456789", "s": "\t\n\f\r ", "w": f"_0123456789{ascii_letters}", "n": "\n", "t": "\t", "r": "\r"}
ONE = re.compile(r"(?P<set>\[(?P<but>\^?)(?P<items>(?:\\.|[^\]\[\\])+)\])|(?P<one>\\.|[^\\.^$*+?{}()|\[\]])", re.DOTALL)
ITEM = re.compile(r"(?P<low>[^\\])-(?P<high>[^\\])|(?P<one>\\.|[^-])", re.DOTALL)


def characters(pattern: str) -> Characters | None:
    """What a pattern of one character, or of its repetition, matches; None for what only RE2 can tell."""
    core = pattern.removesuffix("+") if not pattern.endswith("\\+") else pattern
    whole = ONE.fullmatch(core)
    if whole is None:
        return None
    letters, at, items = "", 0, whole["items"] or whole["one"]
    while at < len(items):
        item = ITEM.match(items, at)
        found = None if item is None else spelt(item)
        if item is None or found is None:
            return None
        letters, at = letters + found, item.end()
    return Characters(letters, bool(whole["but"]), core != pattern)


def spelt(item: re.Match[str]) -> str | None:
    """The characters that an item of a set stands for."""
    if item["low"]:
        low, high = ord(item["low"]), ord(item["high"])
        return "".join(map(chr, range(low, high + 1))) if low <= high < 128 else None
    one = item["one"]
    if len(one) == 1:
        return one
    return CLASSES.get(one[1]) if one[1].isalnum() else one[1] if one[1].isascii() else None
