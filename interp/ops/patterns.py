"""Regular expressions, as RE2 reads them: the standard asks for its syntax, and its time is linear in the text."""
from __future__ import annotations

from typing import Any

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
