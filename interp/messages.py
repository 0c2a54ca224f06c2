"""ModelProto and the messages in it, read without protobuf: objects with the same fields, as far as reading goes."""
from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from .frozen import of_onnx
from .kernels.wire import Field, Kind, parse

MESSAGE, ENUM = 11, 14


class Message:
    """A message, which has what was read as attributes; fields that were not there have the defaults of its class."""

    _groups: ClassVar[dict[str, tuple[str, ...]]] = {}

    def HasField(self, name: str) -> bool:
        """Whether a field that does not repeat was there."""
        return name in vars(self)

    def WhichOneof(self, group: str) -> str | None:
        """Which field of a group, of which there is one at the most, was there."""
        return next((name for name in self._groups[group] if name in vars(self)), None)


def model(content: bytes | memoryview) -> Any:
    """The ModelProto that bytes are; ValueError where they are none.

    Its long runs of bytes are views of ``content``. Where onnx is another than the package was built with, onnx reads it.
    """
    known = kinds()
    if known:
        return parse(known["onnx.ModelProto"], content)
    import onnx

    return onnx.load_model_from_string(bytes(content))


@cache
def kinds() -> dict[str, Kind]:
    """The messages that onnx has, by name."""
    kept = of_onnx()
    table = kept["messages"] if kept else {}
    classes = {name: type(name.rpartition(".")[2], (Message,), {"_groups": groups(fields)}) for name, fields in table.items()}
    found = {name: Kind(made) for name, made in classes.items()}
    for name, fields in table.items():
        for number, (field, code, repeats, about, group) in fields.items():
            rivals = tuple(f for f in groups(fields)[group] if f != field) if group else ()
            held = found[about] if code == MESSAGE else about
            found[name].add(number, Field(field, code, repeats, held, rivals))
            setattr(classes[name], field, () if repeats else classes[about]() if code == MESSAGE else DEFAULTS[code])
    return found


def groups(fields: dict[int, tuple]) -> dict[str, tuple[str, ...]]:
    """The fields of which there may be one at a time."""
    found: dict[str, tuple[str, ...]] = {}
    for name, *_, group in fields.values():
        if group:
            found[group] = (*found.get(group, ()), name)
    return found


DEFAULTS = {1: 0.0, 2: 0.0, 3: 0, 4: 0, 5: 0, 9: "", 12: b"", ENUM: 0}


def table() -> dict[str, dict[int, tuple]]:
    """The messages of the installed onnx: for each field its name, type, whether it repeats, what it holds, and its group."""
    from onnx import onnx_ml_pb2

    found: dict[str, dict[int, tuple]] = {}
    todo = list(onnx_ml_pb2.DESCRIPTOR.message_types_by_name.values())
    while todo:
        message = todo.pop()
        todo += message.nested_types
        found[message.full_name] = {
            f.number: (f.name, f.type, f.is_repeated, f.message_type.full_name if f.message_type else
                       frozenset(f.enum_type.values_by_number) if f.enum_type else None,
                       f.containing_oneof.name if f.containing_oneof else "") for f in message.fields}
    return found
