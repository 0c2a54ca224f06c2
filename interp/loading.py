"""Models read: a path, bytes or a ModelProto becomes a Graph, or a ModelError that says what is wrong with it."""
from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Sequence
from typing import Any

from . import messages
from .errors import ModelError, UsageError, lacking
from .functions import local_functions, opsets_of
from .graph import Graph
from .reader import Place, Reader
from .registry import Registry
from .schema import newest_versions
from .tensors import Folder, mapped

MAPPED = 1 << 23  # bytes from which a file is mapped, not read; one that is mapped must not be written while it is in use
FOREIGN = {
    b"PK\x03\x04": "a zip archive (a saved PyTorch model is one; export it with torch.onnx.export)",
    b"<": "a page or document of tags, not a model; was it downloaded from the right address?",
    b"version https://git-lfs": "a Git LFS pointer; fetch the file itself with git lfs pull",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"\x89HDF": "an HDF5 file (a saved Keras model is one; export it with tf2onnx)",
}


def load(source: Any, registry: Registry, *, trusted: Sequence[str | os.PathLike] = (),
         fed: frozenset[str] = frozenset(), plugins: bool = True) -> Graph:
    """The graph of a model, given as a path, as bytes or as a ModelProto.

    External data must lie in regular files inside the model's folder, or in one of the folders ``trusted``. Initializers that
    are also inputs become ``overridable``, but those named in ``fed`` ordinary inputs. ``plugins``: whether plug-ins are asked
    for operators that the registry lacks. Model-local functions are inlined, and so are operators that the registry lacks and
    the standard writes as functions.
    """
    model, folder = parsed(source)
    if not model.HasField("graph"):
        raise ModelError(f"{_name(source)}: is not an ONNX model: it has no graph")
    if not model.opset_import:
        raise ModelError(f"{_name(source)}: does not say which operator versions it uses (opset_import)")
    beside = Folder(folder, trusted)
    reader = Reader(registry, local_functions(model), beside, newest_versions(), plugins)
    graph = reader.graph(model.graph, Place(ChainMap(), opsets_of(model.opset_import)), frozenset(fed))
    reader.check_complete()
    graph.opsets, graph.files = opsets_of(model.opset_import), beside.files
    graph.metadata = {"name": model.graph.name, "producer": f"{model.producer_name} {model.producer_version}".strip(),
                      "doc": model.graph.doc_string or model.doc_string, "props": {p.key: p.value for p in model.metadata_props},
                      "graph_doc": model.graph.doc_string, "model_doc": model.doc_string, "domain": model.domain,
                      "producer_name": model.producer_name, "producer_version": model.producer_version,
                      "model_version": model.model_version, "ir_version": model.ir_version}
    return graph


def _name(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "the model"


def parsed(source: Any) -> tuple[Any, str | None]:
    """A ModelProto and the folder in which it lies."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return _parse(_content(path), path, os.path.splitext(path)[1]), os.path.dirname(path) or "."
    if isinstance(source, bytes | bytearray | memoryview):
        return _parse(source if isinstance(source, bytes) else bytes(source), "the model", ""), None
    generated = sys.modules.get("onnx.onnx_ml_pb2")  # who gives a ModelProto has imported it
    if generated and isinstance(source, generated.ModelProto):
        return source, None
    raise UsageError(f"a model is given as a path, bytes or a ModelProto, not as {type(source).__name__}")


def _content(path: str) -> bytes | memoryview:
    """The bytes of a file; a large one is mapped, so that only what is looked at is read."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return file.read() if size < MAPPED else memoryview(mapped(file.fileno(), size))
    except FileNotFoundError:
        raise ModelError(f"{path}: there is no such file{near(path)}") from None
    except IsADirectoryError:
        models = sorted(f for f in os.listdir(path) if f.endswith(".onnx"))
        raise ModelError(f"{path}: is a folder{', it holds ' + ', '.join(models[:5]) if models else ''}; name a file") from None
    except (OSError, ValueError) as e:
        raise ModelError(f"{path}: cannot be read: {getattr(e, 'strerror', None) or e}") from e


def near(path: str) -> str:
    """What may have been meant by a path that leads nowhere, as the end of a sentence."""
    folder, name = os.path.split(path)
    if not os.path.isdir(folder or "."):
        return f", nor a folder {folder}"
    from difflib import get_close_matches

    near = get_close_matches(name, os.listdir(folder or "."), 3)
    return f"; did you mean {' or '.join(os.path.join(folder, n) for n in near)}?" if near else ""


def _parse(content: bytes | memoryview, name: str, suffix: str) -> Any:
    if not content:
        raise ModelError(f"{name}: is empty")
    head, format = bytes(content[:32]), _format(suffix)
    kind = next((what for magic, what in FOREIGN.items() if head.startswith(magic)), None)
    if kind and format == "protobuf":
        raise ModelError(f"{name}: is {kind}")
    try:
        if format == "protobuf":
            return messages.model(content)
        import onnx

        return onnx.load_model_from_string(bytes(content), format=format)
    except ModuleNotFoundError as e:
        raise UsageError(f"{name}: {lacking(e)}") from e
    except Exception as e:  # each format's parser raises errors of its own
        reason = str(e).partition("\n")[0]
        raise ModelError(f"{name}: is not an ONNX model, or a damaged one: it cannot be parsed as {format}: {reason}") from e


def _format(suffix: str) -> str:
    """Which form of a model a file's name promises: protobuf, or one of the others that onnx reads."""
    if suffix in ("", ".onnx", ".pb"):
        return "protobuf"
    from onnx import serialization

    return serialization.registry.get_format_from_file_extension(suffix) or "protobuf"
