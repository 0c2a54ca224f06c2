"""Functions: operators that are written as graphs, by the model or by the standard."""
from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from .errors import ModelError
from .record import record
from .values import text


@record(frozen=True, eq=False)
class Function:
    """A function's signature, its nodes (NodeProto), and the opsets that rule them."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Any, ...]
    opsets: dict[str, int]
    attributes: frozenset[str]
    defaults: dict[str, Any]  # attribute: AttributeProto

    def check_call(self, node: str, inputs: int, outputs: int, attributes: Iterable[str]) -> None:
        """Refuse a call that does not go with the signature."""
        for count, formal, kind in ((inputs, self.inputs, "inputs"), (outputs, self.outputs, "outputs")):
            if count > len(formal):
                raise ModelError(f"{node}: function {self.name} has {len(formal)} {kind}, the node {count}")
        if unknown := set(attributes) - self.attributes:
            raise ModelError(f"{node}: function {self.name} has no attribute {', '.join(sorted(unknown))}; "
                             f"it has {', '.join(sorted(self.attributes)) or 'none'}")


def opsets_of(imports: Iterable[Any]) -> dict[str, int]:
    """Versions by domain, where the default domain has one name."""
    return {domain_of(i): i.version for i in imports}


def domain_of(proto: Any) -> str:
    """A domain; "" and "ai.onnx" are one."""
    return "" if proto.domain == "ai.onnx" else text(proto.domain)


def function_of(proto: Any, defaults: Iterable[Any] = ()) -> Function:
    """What a FunctionProto declares; ``defaults`` are attributes (AttributeProto) that it takes beside its own."""
    known = {text(a.name): a for a in (*defaults, *proto.attribute_proto)}
    inputs, outputs, attributes = (tuple(map(text, names)) for names in (proto.input, proto.output, proto.attribute))
    for names, kind in ((inputs, "input"), (outputs, "output")):
        if len(set(names)) < len(names):
            raise ModelError(f"function {proto.name}: an {kind} is listed twice")
    return Function(text(proto.name), inputs, outputs, tuple(proto.node), opsets_of(proto.opset_import),
                    frozenset(known).union(attributes), known)


def local_functions(model: Any) -> dict[tuple[str, str, str], Function]:
    """The functions of a model by domain, name and overload."""
    found: dict[tuple[str, str, str], Function] = {}
    for proto in model.functions:
        key = (domain_of(proto), proto.name, proto.overload)
        if key in found:
            raise ModelError(f"the model has two functions {proto.name} in domain {proto.domain!r}")
        found[key] = function_of(proto)
    return found


@cache
def standard_function(domain: str, name: str, opset: int) -> Function | None:
    """The body that the standard gives an operator, where it is the same for all types and attributes."""
    from onnx import FunctionProto, defs

    schema: Any = defs.get_schema(name, opset, domain)
    if not schema.has_function:
        return None
    bodies = schema.function_opset_versions
    body = FunctionProto()
    body.ParseFromString(schema.get_function_with_opset_version(max((v for v in bodies if v <= opset), default=min(bodies))))
    return function_of(body, [a.default_value for a in schema.attributes.values() if a.default_value.name])
