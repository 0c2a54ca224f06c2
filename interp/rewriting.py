"""Models out of models: optimised in the words of the standard, so that any engine can run them, or a part of them."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .cutting import extracted
from .errors import UsageError
from .graph import Graph
from .loading import load
from .opaque import tolerant
from .ops import standard
from .optimize.portable import LIMIT, PASSES, portable
from .record import record, replace
from .registry import Registry
from .writing import model_of

if TYPE_CHECKING:
    import onnx

CONSTANT_INPUTS = 4  # the version of the file format before which every initializer had to be an input


@record(frozen=True)
class Optimised:
    """A graph before and after, and the initializers that were inputs and no longer are."""

    before: Graph
    after: Graph
    settled: tuple[str, ...]


def optimised(source: Any, *, registry: Registry = standard, trusted: Sequence[Any] = (), skip: Iterable[str] = (),
              limit: int = LIMIT) -> Optimised:
    """A model's graph as it is and after the passes that `interp.optimize.portable` lists.

    Initializers that are inputs too stay what a run may override; in files older than version 4 of the format, which had no
    others, they are constants.
    """
    known = [p.name for p in PASSES]
    if strange := [name for name in skip if name not in known]:
        raise UsageError(f"there is no pass {', '.join(strange)}; there are {', '.join(known)}")
    registry = tolerant(source, registry)
    before = load(source, registry, trusted=trusted)
    if not before.overridable:
        return Optimised(before, portable(before, skip, limit), ())
    if before.metadata["ir_version"] < CONSTANT_INPUTS:
        return Optimised(before, portable(replace(before, overridable={}), skip, limit), tuple(before.overridable))
    fed = load(source, registry, trusted=trusted, fed=frozenset(before.overridable))
    made = portable(fed, skip, limit)
    constants = {**made.constants, **{k: before.constants[k] for k in before.overridable}}
    inputs = [v for v in made.inputs if v.name not in before.overridable]
    return Optimised(before, replace(made, inputs=inputs, constants=constants, overridable=before.overridable), ())


def optimize_model(source: Any, *, registry: Registry = standard, trusted: Sequence[Any] = (), skip: Iterable[str] = (),
                   limit: int = LIMIT) -> onnx.ModelProto:
    """A model that gives the same and does less, in standard ONNX: constants worked out, batch normalization in weights, ….

    ``source`` is a path, the bytes of a file or a ModelProto. ``skip`` names passes to leave out (`interp optimize --list`).
    ``limit``: bytes that the results of one constant node may take, where that is more than it reads. Functions are inlined
    and Constant nodes become initializers; operators that nobody knows stay as they are.
    Raises ModelError, Unsupported or UsageError.
    """
    return model_of(optimised(source, registry=registry, trusted=trusted, skip=skip, limit=limit).after)


def extract_model(source: Any, inputs: Sequence[str] = (), outputs: Sequence[str] = (), *, registry: Registry = standard,
                  trusted: Sequence[Any] = ()) -> onnx.ModelProto:
    """The part of a model between some tensors, with the types and shapes that inference finds for them.

    ``inputs``: where it begins, by default at those of the model that ``outputs`` need; ``outputs``: by default the model's.
    Raises UsageError where outputs need more than the inputs, and says what.
    """
    return model_of(extracted(load(source, tolerant(source, registry), trusted=trusted), inputs, outputs))
