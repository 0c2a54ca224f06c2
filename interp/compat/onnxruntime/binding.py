"""IOBinding: inputs and outputs that stay in memory of the caller's from run to run."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .faults import OrtError
from .feeds import one
from .options import RunOptions
from .values import OrtValue, OrtValueVector, at_address, here

if TYPE_CHECKING:
    from .session import InferenceSession


class IOBinding:
    """What a run of `InferenceSession.run_with_iobinding` reads and where it writes, all on the CPU."""

    def __init__(self, session: InferenceSession):
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Read this array, in whatever state it is when the run begins."""
        self._inputs[name] = one(self._session._known[self._checked(name)], arr_on_cpu)

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int],
                   buffer_ptr: int) -> None:
        """Read the tensor at this address; the element type is NumPy's or an ONNX number."""
        here(device_type)
        self._inputs[self._checked(name)] = at_address(buffer_ptr, shape, element_type)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Read this value."""
        self._inputs[self._checked(name)] = ortvalue

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
                    shape: Sequence[int] | None = None, buffer_ptr: int | None = None) -> None:
        """Have an output, in new memory or at this address."""
        here(device_type)
        if buffer_ptr is None:
            self._outputs[name] = None
        elif element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        else:
            self._outputs[name] = OrtValue(at_address(buffer_ptr, shape, element_type))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Have an output, in the memory of this value."""
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Nothing is under way on a CPU."""

    def synchronize_outputs(self) -> None:
        """Nothing is under way on a CPU."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return list(self._results)

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        """The outputs of the last run."""
        return OrtValueVector(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Copies of the outputs of the last run, as `InferenceSession.run` gives them."""
        return [v._value.copy() if isinstance(v._value, np.ndarray) else v._value for v in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []

    def _checked(self, name: str) -> str:
        if name not in self._session._known:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        return name

    def _run(self, run_options: RunOptions | None) -> None:
        from .session import plain

        if not self._outputs:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        given = {n: v.numpy() for n, v in self._outputs.items() if v is not None}
        try:
            if missing := [v.name for v in self._session._session.inputs if v.name not in self._inputs]:
                raise RuntimeError(f"Missing Input: {', '.join(missing)}")
            made = self._session._run(list(self._outputs), self._inputs, run_options, given or None)
        except (OrtError, RuntimeError, ValueError) as e:
            raise RuntimeError(f"Error in execution: {plain(e)}") from e
        self._results = [v or OrtValue(m) for v, m in zip(self._outputs.values(), made, strict=True)]
