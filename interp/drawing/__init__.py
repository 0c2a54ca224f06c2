"""Pictures of models: a tree of text, DOT, SVG, or one HTML file that pans, zooms and searches without a network."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

from ..errors import UsageError
from ..ops import standard
from ..registry import Registry
from ..survey import survey
from .heat import Heat, heated
from .scene import Scene, scene_of

__all__ = ["FORMS", "Heat", "Scene", "draw", "heated", "scene_of"]
FORMS = ("text", "dot", "svg", "html")


def draw(model: Any, form: str = "text", *, name: str = "", sizes: Mapping[str, int] | None = None,
         shapes: Mapping[str, tuple[int, ...]] | None = None, optimize: int = 0, profile: Mapping[str, Any] | None = None,
         registry: Registry = standard, trusted: Iterable[str] = ()) -> str:
    """A picture of a model (a path, bytes or a ModelProto): "text", "dot", "svg" or "html". It is not run.

    ``sizes`` puts numbers in the place of named sizes, ``shapes`` whole shapes in that of inputs'; ``optimize`` draws the
    graph after the passes of that level, 2 is the one that runs by default; ``profile`` is the content of a file that
    `interp profile --json` wrote and colours nodes by time. Raises ModelError for what is no model, InputError for a profile
    that does not fit, UsageError for names that the model does not have.
    """
    if form not in FORMS:
        raise UsageError(f"form={form!r}: give one of {', '.join(FORMS)}")
    found = survey(model, sizes=sizes, shapes=shapes, optimize=optimize, registry=registry, trusted=trusted)
    scene = scene_of(found, name)
    heat = heated(scene, profile) if profile is not None else None
    return rendered(scene, form, heat)


def rendered(scene: Scene, form: str, heat: Heat | None = None) -> str:
    """A scene in one of FORMS; what is not asked for is not imported."""
    return getattr(import_module(f".{form}", __name__), form)(scene, heat)
