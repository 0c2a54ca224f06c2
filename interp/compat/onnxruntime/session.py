"""InferenceSession over `interp.Session`: what programs call, with onnxruntime's names, answers and exceptions."""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np

from ... import session as native
from ...errors import InputError, InterpError
from ...graph import Value
from ...types import type_of
from . import feeds as feeding
from .binding import IOBinding
from .faults import InvalidArgument, OrtError, failed, unloaded
from .options import RunOptions, SessionOptions, ignored
from .profiling import Profile
from .providers import CPU, settle
from .source import Adjusted
from .values import OrtValue, OrtValueVector, spelt

FIRST_OVERRIDABLE = 4  # the IR version from which on an initializer that is also an input may be fed
UNSAID = 2**63 - 1  # the version of a model that does not say it
KEYWORDS = frozenset(("enable_fallback", "read_config_from_model"))  # what they ask for is so


class NodeArg:
    """An input or output: its name, its type as in "tensor(float)", and its sizes: numbers, names, or None."""

    def __init__(self, value: Value):
        self._name, self._type, self._shape = value.name, spelt(value.type), list(value.shape or ())

    name = property(lambda self: self._name)
    type = property(lambda self: self._type)
    shape = property(lambda self: list(self._shape))

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """What a model says of itself."""

    def __init__(self, metadata: Mapping[str, Any], versioned: bool):
        self.custom_metadata_map: dict[str, str] = dict(metadata["props"])
        self.description: str = metadata["model_doc"]
        self.domain: str = metadata["domain"]
        self.graph_description: str = metadata["graph_doc"]
        self.graph_name: str = metadata["name"]
        self.producer_name: str = metadata["producer_name"]
        self.version: int = metadata["model_version"] if versioned else UNSAID


class Session:
    """What sessions have in common, in onnxruntime; here there is one kind."""


class InferenceSession(Session):
    """A model ready to run, from a path or its bytes. Several threads may run it."""

    def __init__(self, path_or_bytes: str | bytes | os.PathLike[str], sess_options: SessionOptions | None = None,
                 providers: Sequence[Any] | None = None, provider_options: Sequence[dict] | None = None, **kwargs: Any):
        if not isinstance(path_or_bytes, str | bytes | os.PathLike):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options and not isinstance(sess_options, SessionOptions):
            raise TypeError(f"sess_options must be SessionOptions, not {type(sess_options).__name__}")
        self._model_path = None if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        self._model_bytes = path_or_bytes if isinstance(path_or_bytes, bytes) else None
        self._sess_options = options = sess_options or SessionOptions()
        self._enable_fallback = int(kwargs.get("enable_fallback", 1)) == 1
        self._providers = self._settled(providers, provider_options)
        ignored([*options.idle(), *sorted(kwargs.keys() - KEYWORDS)], options.log_severity_level)
        self._load(options)

    def _settled(self, providers: Sequence[Any] | None, provider_options: Sequence[dict] | None) -> list[str]:
        try:
            return settle(providers, provider_options)
        except (ValueError, RuntimeError) as e:
            if not self._enable_fallback:
                raise
            print("*************** EP Error ***************")
            print(f"EP Error {e} when using {providers}")
            print(f"Falling back to {[CPU]} and retrying.")
            print("****************************************")
            return [CPU]

    def _load(self, options: SessionOptions) -> None:
        begun, source = time.perf_counter(), self._model_bytes if self._model_path is None else self._model_path
        level, threads = options.graph_optimization_level.optimize, options.intra_op_num_threads
        adjusted = Adjusted(source, options.dimensions, options.initializers)
        self._settings = {"threads": min(threads, native.MOST_THREADS) if threads > 0 else None, "optimize": level,
                          "exact": False, "most_iterations": native.MOST_ITERATIONS, "most_bytes": None}
        try:
            self._session = native.Session(adjusted, **self._settings)
            if options.optimized_model_filepath:
                adjusted.written(options.optimized_model_filepath, options.graph_optimization_level)
        except (InterpError, OSError) as e:
            unloaded(source, e)
        self._source, self._idle = adjusted, list[native.Session]()
        self._loose: native.Session | None = None
        self._pool: ThreadPoolExecutor | None = None
        session = self._session
        overridable = session.overridable if session.metadata["ir_version"] >= FIRST_OVERRIDABLE else []
        self._known = {v.name: v for v in [*session.inputs, *overridable]}
        self._required = {v.name: v for v in session.inputs}
        self._output_names = [v.name for v in session.outputs]
        self._inputs_meta, self._outputs_meta = list(map(NodeArg, session.inputs)), list(map(NodeArg, session.outputs))
        self._overridable_initializers = list(map(NodeArg, overridable))
        self._profile = Profile(options.profile_file_prefix, begun) if options.enable_profiling else None
        if self._profile:
            session.observers.append(self._profile)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs, without initializers."""
        return self._inputs_meta

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The initializers that may be fed."""
        return self._overridable_initializers

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says of itself."""
        return ModelMetadata(self._session.metadata, self._source.versioned)

    def get_session_options(self) -> SessionOptions:
        """The options that were given, or the defaults."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """The CPU's provider."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """No options for each provider."""
        return {name: {} for name in self._providers}

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Sequence[dict] | None = None) -> None:
        """Check the names, which change nothing. Raises RuntimeError for one that onnxruntime does not know."""
        self._providers = settle(providers, provider_options)

    def disable_fallback(self) -> None:
        """Nothing to fall back from here."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """Nothing to fall back from here."""
        self._enable_fallback = True

    def set_ep_dynamic_options(self, options: dict[str, str]) -> None:
        """Not done; each warns once."""
        ignored(options)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """The outputs of these names (None or []: all) for feeds by name; see the package for what may be fed."""
        feeding.required(self._session.inputs, input_feed)
        return self._run(output_names, input_feed, run_options)

    def run_with_ort_values(self, output_names: Sequence[str] | None, input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        """What `run` does, from OrtValues to OrtValues."""
        feeding.required(self._session.inputs, input_dict_ort_values)
        given = {n: v._get_c_value() for n, v in input_dict_ort_values.items()}
        return list(map(OrtValue, self._run(output_names, given, run_options)))

    def run_with_ortvaluevector(self, run_options: RunOptions | None, feed_names: Sequence[str], feeds: Sequence[OrtValue],
                                fetch_names: Sequence[str], fetches: OrtValueVector, fetch_devices: Any = None) -> None:
        """What `run_with_ort_values` does; ``fetches`` gets the outputs."""
        fetches[:] = map(OrtValue, self._run(fetch_names, dict(zip(feed_names, feeds, strict=True)), run_options))

    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  callback: Callable[[list[Any], Any, str], object], user_data: Any,
                  run_options: RunOptions | None = None) -> None:
        """Run on another thread, which calls ``callback(results, user_data, error)``: error is "" or says why there are none."""
        feeding.required(self._session.inputs, input_feed)

        def work() -> None:
            try:
                made, error = self._run(output_names, input_feed, run_options), ""
            except Exception as e:  # whatever it is, the callback has to hear of it
                made, error = [], plain(e)
            callback(made, user_data, error)

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._session.threads, "interp")
        self._pool.submit(work)

    def io_binding(self) -> IOBinding:
        """A place for inputs and outputs that stay where they are from run to run."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Run on what is bound; outputs go into the memory that is bound for them. Raises RuntimeError."""
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        iobinding._run(run_options)

    def end_profiling(self) -> str:
        """Write what was noted since the session was made, as Chrome's tracing reads it; the file's name, or ""."""
        if self._profile is None or self._profile.ended:
            return ""
        self._session.observers.remove(self._profile)
        return self._profile.end()

    def get_profiling_start_time_ns(self) -> int:
        """When the profile begins, as `time.perf_counter_ns` tells; 0 where there is none."""
        return self._profile.started_ns if self._profile else 0

    def _run(self, output_names: Sequence[str] | None, feeds: Mapping[str, Any], run_options: RunOptions | None,
             out: Mapping[str, Any] | None = None) -> list[Any]:
        """Run with feeds as programs give them."""
        names = self._named(output_names)
        given = feeding.taken(self._known, feeds)
        given = {n: v for n, v in given.items() if n in feeds or n in self._required}
        if run_options is None:
            return self._tried(self._session, names, given, out)
        if not isinstance(run_options, RunOptions):
            raise TypeError(f"run_options must be RunOptions, not {type(run_options).__name__}")
        ignored(run_options.idle(), run_options.log_severity_level)
        lane = self._idle.pop() if self._idle else copy(self._session)  # `terminate` must end this run alone
        lane.observers = self._session.observers
        try:
            with run_options.during(lane.cancel):
                return self._tried(lane, names, given, out)
        except OrtError as e:
            if run_options.terminate:
                raise failed(InterpError("Exiting due to terminate flag being set to true.")) from e
            raise
        finally:
            self._idle.append(lane)

    def _named(self, output_names: Sequence[str] | None) -> list[str] | None:
        if not output_names:
            return None
        if isinstance(output_names, str) or not isinstance(output_names, Iterable):
            raise TypeError(f"run(): output names are given as a list, not as {output_names!r}")
        names = list(output_names)
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"run(): outputs are named by strings, not by {name!r}")
            if name not in self._output_names:
                raise InvalidArgument.saying(f"Invalid output name:{name}")
        return names

    def _tried(self, session: native.Session, names: list[str] | None, given: dict[str, Any],
               out: Mapping[str, Any] | None) -> list[Any]:
        """Run, and raise what onnxruntime raises."""
        begun = time.perf_counter()
        try:
            try:
                made = session.run(names, given, out=out)
            except InputError as e:
                wrong = feeding.unfit(self._known, given)
                if wrong or out is not None:
                    raise wrong or failed(e) from e
                made = self._loosely(names, given, e)
        except InterpError as e:
            raise failed(e) from e
        if self._profile:
            self._profile.ran(begun)
        return [np.asarray(m, object) if isinstance(m, np.ndarray) and m.dtype.kind in "US" else m for m in made]

    def _loosely(self, names: list[str] | None, given: dict[str, Any], error: InputError) -> list[Any]:
        """Run with what onnxruntime lets pass: other sizes than one for a name, any rank where a scalar is declared."""
        if all(type_of(a).startswith("tensor") for a in given.values()) and self._source.strict():
            if self._loose is None:
                self._loose = native.Session(self._source.loosened(), **self._settings)
            return self._loose.run(names, given)
        raise error


def plain(error: Exception) -> str:
    """What an exception says, without onnxruntime's head."""
    return str(error).split(" : ", 3)[-1] if isinstance(error, OrtError) else str(error)


