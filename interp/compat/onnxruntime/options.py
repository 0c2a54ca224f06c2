"""Settings of sessions and runs: onnxruntime's, each with its type and default, and which of them have an effect here."""
from __future__ import annotations

import operator
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, IntEnum
from threading import Lock
from typing import TYPE_CHECKING, Any

from .faults import Fail

if TYPE_CHECKING:
    from .values import OrtValue

INTS = range(-2**31, 2**31)
LONGEST_KEY = 1024
WARNING = 2  # a severity: 0 is for those who want to hear everything, 4 for fatal errors alone


class IgnoredOption(UserWarning):
    """An option that has no effect here, said once a process for each. `warnings.simplefilter("ignore", IgnoredOption)`."""


class Listed(IntEnum):
    """An enumeration that is written as onnxruntime writes it, and equals its numbers."""

    __str__ = Enum.__str__
    __format__ = lambda self, form: format(str(self), form)  # type: ignore[assignment]  # noqa: E731


class GraphOptimizationLevel(Listed):
    """How much a graph is rewritten: not at all, without what is not needed, or with all that `interp.load` does."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99

    @property
    def optimize(self) -> int:
        """The level that `interp.load` has for it."""
        return min(int(self), 2)


class ExecutionMode(Listed):
    """Whether nodes run one after the other, which they do here in either mode."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Listed):
    """In which order nodes run; here as the plan has them."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class OrtExecutionProviderDevicePolicy(Listed):
    """Which device is preferred, where there are several."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class Setting:
    """A property with a type. One without ``effect`` does nothing here, and warns where it is not ``default``."""

    def __init__(self, kind: type, default: Any, effect: bool = False):
        self.kind, self.default, self.effect = kind, default, effect

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, options: Any, owner: type) -> Any:
        return self if options is None else options._given.get(self.name, self.default)

    def __set__(self, options: Any, value: Any) -> None:
        options._given[self.name] = self._taken(value)

    def _taken(self, value: Any) -> Any:
        if self.kind is bool and not isinstance(value, str | Enum):
            return bool(value)
        if self.kind is int:
            with suppress(TypeError):
                if (found := operator.index(value)) in INTS:
                    return found
        elif isinstance(value, self.kind):
            return value
        elif self.kind is str and isinstance(value, os.PathLike):
            return os.fspath(value)
        raise TypeError(f"{self.name} takes {self.kind.__name__}, not {value!r}")


class Settings:
    """Properties, and entries of text by key; nothing else can be set."""

    __slots__ = ("_given", "_entries", "__weakref__")

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._entries: dict[str, str] = {}

    def idle(self) -> Iterator[str]:
        """What was set and has no effect."""
        for name, value in self._given.items():
            setting = getattr(type(self), name)
            if not setting.effect and value != setting.default:
                yield name
        yield from self._entries

    def _put(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"an entry takes two strings, not {key!r} and {value!r}")
        if not 0 < len(key.encode()) <= LONGEST_KEY:
            raise RuntimeError(f"Config key is empty or longer than maximum length {LONGEST_KEY}")
        self._entries[key] = value

    def _got(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}")
        return self._entries[key]


class SessionOptions(Settings):
    """Settings of a session. Those with an effect: `graph_optimization_level`, `intra_op_num_threads` (0 and less: as many as the
    process may use), `enable_profiling`, `profile_file_prefix`, `optimized_model_filepath`, `log_severity_level`, free
    dimensions by name, and initializers. `use_deterministic_compute` needs nothing, runs always are."""

    __slots__ = ("dimensions", "initializers")

    enable_cpu_mem_arena = Setting(bool, True)
    enable_mem_pattern = Setting(bool, True)
    enable_mem_reuse = Setting(bool, True)
    enable_profiling = Setting(bool, False, effect=True)
    execution_mode = Setting(ExecutionMode, ExecutionMode.ORT_SEQUENTIAL)
    execution_order = Setting(ExecutionOrder, ExecutionOrder.DEFAULT)
    graph_optimization_level = Setting(GraphOptimizationLevel, GraphOptimizationLevel.ORT_ENABLE_ALL, effect=True)
    inter_op_num_threads = Setting(int, 0)
    intra_op_num_threads = Setting(int, 0, effect=True)
    log_severity_level = Setting(int, -1, effect=True)
    log_verbosity_level = Setting(int, 0)
    logid = Setting(str, "")
    optimized_model_filepath = Setting(str, "", effect=True)
    profile_file_prefix = Setting(str, "onnxruntime_profile_", effect=True)
    use_deterministic_compute = Setting(bool, False, effect=True)
    use_per_session_threads = Setting(bool, True)

    def __init__(self) -> None:
        super().__init__()
        self.dimensions: dict[str, int] = {}
        self.initializers: dict[str, Any] = {}

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Keep an entry, which has no effect but that it can be asked for."""
        self._put(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """An entry; RuntimeError where there is none."""
        return self._got(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Give every size of that name in the model a number."""
        self.dimensions[name] = operator.index(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Not done: feeds decide. It warns once."""
        ignored([f"add_free_dimension_override_by_denotation({denotation!r})"])

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Put a value in the place of an initializer of the model, of the same type and shape."""
        from .values import OrtValue

        if not isinstance(value, OrtValue):
            raise RuntimeError(f"an initializer is given as an OrtValue, not as {type(value).__name__}")
        self.initializers[name] = value.numpy()

    def add_external_initializers(self, names: list[str], values: list[OrtValue]) -> None:
        """Put values in the place of several initializers."""
        if len(names) != len(values):
            raise RuntimeError(f"{len(names)} names came with {len(values)} values")
        for name, value in zip(names, values, strict=True):
            self.add_initializer(name, value)

    def add_external_initializers_from_files_in_memory(self, names: Any, buffers: Any, lengths: Any) -> None:
        """Refused: external data comes from files here."""
        raise Fail.saying("external data in memory is not supported; give the path of a model, with its data beside it")

    def register_custom_ops_library(self, path: str) -> None:
        """Refused: such a library holds code against onnxruntime's own C interface."""
        raise Fail.saying(f"{path}: libraries of operators for onnxruntime cannot be loaded here; write the operator in Python "
                          "or Cython instead, with interp.op, and load the model with interp.load(..., registry=...)")

    def add_provider(self, name: str, options: dict[str, str]) -> None:
        """Take note of a provider: only the CPU's has an effect, which is there anyway."""
        if name != "CPUExecutionProvider":
            ignored([name])

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """Not done: there is one provider. It warns once, but for DEFAULT and PREFER_CPU."""
        if policy > OrtExecutionProviderDevicePolicy.PREFER_CPU:
            ignored([str(policy)])

    def has_providers(self) -> bool:
        """False: sessions name theirs."""
        return False

    def set_load_cancellation_flag(self, value: bool) -> None:
        """Not done: loading goes on to its end. It warns once."""
        if value:
            ignored(["set_load_cancellation_flag"])


class RunOptions(Settings):
    """Settings of runs. Those with an effect: `terminate`, which ends the runs that use these options and refuses others, and
    `only_execute_path_to_fetches`, which is always so."""

    __slots__ = ("_running", "_lock", "_stopped")

    log_severity_level = Setting(int, -1, effect=True)
    log_verbosity_level = Setting(int, 0)
    logid = Setting(str, "")
    only_execute_path_to_fetches = Setting(bool, False, effect=True)

    def __init__(self) -> None:
        super().__init__()
        self._running: list[Callable[[], None]] = []
        self._lock = Lock()
        self._stopped = False

    @property
    def terminate(self) -> bool:
        return self._stopped

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if isinstance(value, str | Enum):
            raise TypeError(f"terminate takes bool, not {value!r}")
        with self._lock:
            self._stopped = bool(value)
            running = list(self._running)
        if value:
            for cancel in running:
                cancel()

    @contextmanager
    def during(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Let `terminate` end what runs meanwhile."""
        with self._lock:
            if self.terminate:
                raise Fail.saying("Exiting due to terminate flag being set to true.")
            self._running.append(cancel)
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(cancel)

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Keep an entry, which has no effect but that it can be asked for."""
        self._put(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """An entry; RuntimeError where there is none."""
        return self._got(key)

    def add_active_adapter(self, adapter: Any) -> None:
        """Refused: adapters are onnxruntime's own."""
        raise Fail.saying("adapters (LoRA) are not supported")


said: set[str] = set()
severity = WARNING


def ignored(names: Iterable[str], level: int = -1) -> None:
    """Warn of options that have no effect, once a process for each, unless the severity asked for is above warnings."""
    if (severity if level < 0 else level) > WARNING:
        return
    for name in names:
        if name not in said:
            said.add(name)
            warnings.warn(f"{name} has no effect here: interp stands in for onnxruntime", IgnoredOption,
                          stacklevel=outside())


def outside() -> int:
    """How many calls up the program stands that called this package, for `warnings.warn` of the caller."""
    here, frame, level = os.path.dirname(__file__), sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame, level = frame.f_back, level + 1
    return level


def set_default_logger_severity(level: int) -> None:
    """From which severity on there are messages: 0 verbose, 1 info, 2 warning, 3 error, 4 fatal."""
    global severity
    level = operator.index(level)
    if not 0 <= level <= 4:
        raise RuntimeError("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal")
    severity = level


def set_default_logger_verbosity(level: int) -> None:
    """Nothing: there are no verbose messages."""
    operator.index(level)
