"""Prints docs/api.md, from the docstrings of the package: ``python docs/make_api.py > docs/api.md``. A test holds it to them."""
from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

HEAD = """# The Python interface

Made by `python docs/make_api.py > docs/api.md` from the docstrings. What `import interp` gives comes first; each name is
imported on first use.
Arrays are NumPy's, with ml_dtypes' for bfloat16 and the narrow types; times are in seconds, sizes in bytes, shapes are tuples
of numbers, names and None for what is unknown. Whatever goes wrong is an [InterpError](#interperrors).
"""
MODULES: dict[str, tuple[str, ...] | None] = {  # what of them to tell, all where it is None
    "errors": None, "directml": None, "plugins": ("Plugin", "installed"), "backend": None, "compat.onnxruntime": ()}


def members(holder: Any, home: str) -> Iterator[tuple[str, Any]]:
    """What a module or a class says of itself: public names with a docstring, in the order in which they are written."""
    for name, value in vars(holder).items():
        if name.startswith("_") or isinstance(value, ModuleType):
            continue
        inner = written(value)
        if (inspect.isfunction(inner) or inspect.isclass(inner)) and inner.__doc__ and inner.__module__ == home:
            yield name, value


def written(value: Any) -> Any:
    """The function behind a method of any kind, or a property."""
    for under in ("__func__", "fget", "func", "__wrapped__"):
        value = getattr(value, under, None) or value
    return value


def spelled(kind: Any) -> str:
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def default(value: Any) -> str:
    """A default as it is written; what prints as an address goes by the name of its kind."""
    return type(value).__name__.lower() if " at 0x" in repr(value) else repr(value)


def signature(function: Any) -> str:
    """How a function is called, with types as they are written in the source."""
    called = inspect.signature(function)
    parts, starred = [], False
    for p in called.parameters.values():
        if p.name == "self" or p.name == "cls":
            continue
        if p.kind is p.VAR_POSITIONAL:
            starred = True
        elif p.kind is p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        text += f": {spelled(p.annotation)}" if p.annotation is not p.empty else ""
        parts.append(text + (f" = {default(p.default)}" if p.default is not p.empty else ""))
    returns = f" -> {spelled(called.return_annotation)}" if called.return_annotation is not called.empty else ""
    return f"({', '.join(parts)}){returns}"


def prose(value: Any) -> str:
    """A docstring as Markdown."""
    text = inspect.cleandoc(value.__doc__ or "")
    return re.sub(r"``(.+?)``", r"`\1`", text, flags=re.S)


def entry(path: str, value: Any, depth: int) -> Iterator[str]:
    """The section of a function, a class with its methods, or a property."""
    yield f"{'#' * depth} {path}\n"
    if not callable(written(value)):
        yield f"A {type(value).__name__}.\n"
        return
    if inspect.isclass(value):
        if issubclass(value, Exception):
            code = getattr(value, "exit_code", None)
            over = ", ".join(b.__name__ for b in value.__bases__)
            yield f"An exception over {over}{f'; exit code {code}' if code is not None else ''}.\n"
        elif "__init__" in vars(value) and inspect.isfunction(value.__init__):
            yield f"```text\n{path}{signature(value).removesuffix(' -> None')}\n```\n"
        yield prose(value) + "\n"
        for name, member in members(value, value.__module__):
            yield from entry(f"{path}.{name}", member, depth + 1)
        return
    if callable(value) or hasattr(value, "__func__"):
        yield f"```text\n{path}{signature(written(value))}\n```\n"
    yield prose(written(value)) + "\n"


def page() -> str:
    """The whole page."""
    import interp

    parts = [HEAD, "## interp\n"]
    for name in interp.__all__:
        value = getattr(interp, name)
        if not isinstance(value, ModuleType) and getattr(value, "__module__", "") != "interp.errors":
            parts += entry(f"interp.{name}", value, 3)
    for name, chosen in MODULES.items():
        module = import_module(f"interp.{name}")
        parts += [f"## interp.{name}\n", prose(module) + "\n"]
        for inner, value in members(module, module.__name__):
            if chosen is None or inner in chosen:
                parts += entry(f"interp.{name}.{inner}", value, 3)
    return "\n".join(parts)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    print(page(), end="")
