"""onnxruntime's exceptions, and which of them stands for an error of this package."""
from __future__ import annotations

import os
from typing import Any, NoReturn

from ...errors import InputError, ModelError, RunError, Unsupported, UnsupportedOperator, UnsupportedType, UnsupportedVersion


class OrtError(Exception):
    """What onnxruntime's exceptions have in common here: a code, which their text begins with. There they have no base."""

    code = 0
    word = ""

    @classmethod
    def saying(cls, text: object) -> OrtError:
        """One with onnxruntime's head before the text."""
        return cls(f"[ONNXRuntimeError] : {cls.code} : {cls.word} : {text}")


class Fail(OrtError):
    """A run failed, or a model asks for what is not registered."""

    code, word = 1, "FAIL"


class InvalidArgument(OrtError):
    """A feed or a name is not what the model declares."""

    code, word = 2, "INVALID_ARGUMENT"


class NoSuchFile(OrtError):
    """There is no file of that name."""

    code, word = 3, "NO_SUCHFILE"


class NoModel(OrtError):
    """No model was loaded. Never raised here."""

    code, word = 4, "NO_MODEL"


class EngineError(OrtError):
    """An engine failed. Never raised here."""

    code, word = 5, "ENGINE_ERROR"


class RuntimeException(OrtError):
    """Memory ran out."""

    code, word = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(OrtError):
    """The bytes are no model."""

    code, word = 7, "INVALID_PROTOBUF"


class ModelLoaded(OrtError):
    """A model was loaded already. Never raised here."""

    code, word = 8, "MODEL_LOADED"


class NotImplemented(OrtError):
    """The standard has the operator for these types, this package has not."""

    code, word = 9, "NOT_IMPLEMENTED"


class InvalidGraph(OrtError):
    """The model breaks a rule of the standard."""

    code, word = 10, "INVALID_GRAPH"


class EPFail(OrtError):
    """An execution provider failed. Never raised here."""

    code, word = 11, "EP_FAIL"


class ModelLoadCanceled(OrtError):
    """Loading was called off. Never raised here."""

    code, word = 12, "MODEL_LOAD_CANCELED"


class ModelRequiresCompilation(OrtError):
    """The model has to be compiled first. Never raised here."""

    code, word = 13, "MODEL_REQUIRES_COMPILATION"


class NotFound(OrtError):
    """Something was not found. Never raised here."""

    code, word = 14, "NOT_FOUND"


class DeviceReset(OrtError):
    """A device was reset. Never raised here."""

    code, word = 15, "DEVICE_RESET"


FAULTS: tuple[type[OrtError], ...] = (
    Fail, InvalidArgument, NoSuchFile, NoModel, EngineError, RuntimeException, InvalidProtobuf, ModelLoaded, NotImplemented,
    InvalidGraph, EPFail, ModelLoadCanceled, ModelRequiresCompilation, NotFound, DeviceReset)


def unloaded(source: Any, error: Exception) -> NoReturn:
    """Raise what onnxruntime raises for a model that cannot be loaded, given as a path or as bytes."""
    raise _of_model(source, error) from error


def _of_model(source: Any, error: Exception) -> OrtError:
    if isinstance(error, UnsupportedOperator):  # operators of the standard are there, unless a name is misspelt
        return (Fail if "domain" in str(error) else InvalidGraph).saying(error)
    if isinstance(error, UnsupportedType):
        return (InvalidGraph if "does not allow" in str(error) else NotImplemented).saying(error)
    if isinstance(error, UnsupportedVersion):
        return Fail.saying(error)
    if isinstance(error, Unsupported):
        return NotImplemented.saying(error)
    if not isinstance(error, ModelError):
        return Fail.saying(error)
    named = f"Load model from {source} failed:" if isinstance(source, str) else ""
    if named and not os.path.lexists(source):
        return NoSuchFile.saying(f"{named}{error}")
    if source == b"" or named and os.path.isfile(source) and not os.path.getsize(source):
        return InvalidArgument.saying(f"{named}No graph was found in the protobuf.")
    return (InvalidGraph if parses(source) else InvalidProtobuf).saying(f"{named}{error}")


def parses(source: Any) -> bool:
    """Whether a path or bytes hold a protobuf of a model, be it valid or not."""
    from ...loading import parsed

    try:
        parsed(source)
    except ModelError:
        return False
    return True


def failed(error: Exception) -> OrtError:
    """What onnxruntime raises where a run fails."""
    if isinstance(error.__cause__, MemoryError):
        return RuntimeException.saying(error)
    if isinstance(error, InputError):
        return InvalidArgument.saying(error)
    return Fail.saying(f"Non-zero status code returned while running {error}" if isinstance(error, RunError) else error)
