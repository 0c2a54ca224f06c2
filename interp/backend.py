"""The adaptor that onnx.backend asks of a runtime: `prepare(model).run(inputs)`."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .errors import InputError, InterpError, Unsupported
from .schema import newest_versions
from .session import Session, load


class InterpRep(BackendRep):
    """A session behind the interface of onnx.backend."""

    def __init__(self, session: Session):
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs, in the model's order and by name, for inputs in order (initializers left out) or by name."""
        names = [v.name for v in self.session.inputs]
        if not isinstance(inputs, Mapping):
            given = list(inputs) if isinstance(inputs, Sequence) else [inputs]
            if len(given) > len(names):
                raise InputError(f"{len(given)} inputs given, the model takes {len(names)}: {', '.join(names)}")
            inputs = dict(zip(names, given, strict=False))
        outputs = [v.name for v in self.session.outputs]
        return namedtupledict("Outputs", outputs)(*self.session.run(None, inputs))


class InterpBackend(Backend):
    """onnx.backend for this package; the only device is the CPU."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether every operator of the model, in its version and types, is supported."""
        if not cls.supports_device(device):
            return False
        try:
            load(model)
        except Unsupported:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> InterpRep:
        """A model ready to run as often as one likes; keywords are those of ``interp.load``.

        Raises Unsupported for another device than the CPU, and what ``interp.load`` raises.
        """
        if not cls.supports_device(device):
            raise Unsupported(f"device {device}: this package runs on the CPU")
        return InterpRep(load(model, **kwargs))

    @classmethod
    def run_node(cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any) -> Any:
        """The outputs of one node for inputs in order (none for those left out) or by name, at ``opset_version`` of its domain.

        ``outputs_info`` is not needed. The default version is the newest. Raises InputError, and what `prepare` raises.
        """
        from onnx import helper

        from .types import ELEMENTS, type_of

        names = [n for n in node.input if n]
        given = inputs if isinstance(inputs, Mapping) else dict(zip(names, list(inputs), strict=False))
        if missing := set(names) - set(given):
            raise InputError(f"the node reads {', '.join(names)}; nothing was given for {', '.join(sorted(missing))}")
        if not isinstance(inputs, Mapping) and len(inputs) != len(names):
            raise InputError(f"{len(inputs)} inputs given, the node reads {len(names)}: {', '.join(names)}")
        codes = {f"tensor({name})": e.code for name, e in ELEMENTS.items()}
        formal = [helper.make_tensor_value_info(n, codes[type_of(given[n])], given[n].shape) if type_of(given[n]) in codes
                  else helper.make_empty_tensor_value_info(n) for n in dict.fromkeys(names)]
        graph = helper.make_graph([node], "node", formal, [helper.make_empty_tensor_value_info(o) for o in node.output if o])
        opset = helper.make_opsetid(node.domain, kwargs.pop("opset_version", newest_versions().get(node.domain, 1)))
        return cls.prepare(helper.make_model(graph, opset_imports=[opset]), device, **kwargs).run(given)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is a CPU: "CPU", or "CPU:0" and so on."""
        return device.split(":")[0] == "CPU"


prepare = InterpBackend.prepare
run_node = InterpBackend.run_node
run_model = InterpBackend.run_model
is_compatible = InterpBackend.is_compatible
supports_device = InterpBackend.supports_device
__all__ = ["InterpBackend", "InterpError", "InterpRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]
