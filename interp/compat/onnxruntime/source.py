"""A model as the options of a session change it: sizes given for names, initializers replaced, the optimised model written."""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ModelError, UsageError
from ...graph import Graph, Value
from ...loading import MAPPED, parsed
from ...ops import standard
from ...record import replace
from ...source import Source
from .options import GraphOptimizationLevel


class Adjusted(Source):
    """A model whose named sizes and initializers are partly given."""

    def __init__(self, model: Any, dimensions: Mapping[str, int], initializers: Mapping[str, np.ndarray], loose: bool = False):
        super().__init__(model, standard)
        self.dimensions, self.initializers, self.loose = dict(dimensions), dict(initializers), loose

    def read(self, fed: frozenset[str] = frozenset()) -> Graph:
        """The graph, changed. Raises UsageError for an initializer that the model lacks, or has in another type or shape."""
        graph = super().read(fed)
        self._kept(graph)
        for name, array in self.initializers.items():
            there = graph.constants.get(name)
            if not isinstance(there, np.ndarray) or (there.dtype, there.shape) != (array.dtype, array.shape):
                raise UsageError(f"the model has no initializer {name} of type {array.dtype} and shape {list(array.shape)}")
            graph.constants[name] = array
        if self.dimensions:
            self._sized(graph)
        if self.loose:
            shared = {d for d, n in sizes(graph.inputs).items() if n > 1}
            graph.inputs = [replace(v, shape=tuple(None if d in shared else d for d in v.shape) if v.shape else None)
                            for v in graph.inputs]
        return graph

    @cached_property
    def versioned(self) -> bool:
        """Whether the model says of which version it is."""
        try:
            return parsed(self.model)[0].HasField("model_version")
        except ModelError:  # a large file that is no longer there
            return False

    def _kept(self, graph: Graph) -> None:
        """Hold a small file: programs delete theirs once they have a session, and variants of it read the model again."""
        if isinstance(self.model, str) and not graph.files and os.path.getsize(self.model) < MAPPED:
            with open(self.model, "rb") as file:
                self.model, self.stamps = file.read(), {}

    def _sized(self, graph: Graph) -> None:
        graph.inputs, graph.outputs = list(map(self._value, graph.inputs)), list(map(self._value, graph.outputs))
        for values in (graph.overridable, graph.hints):
            values.update({name: self._value(v) for name, v in values.items()})
        for node in graph.nodes:
            for body in node.bodies.values():
                self._sized(body)

    def _value(self, value: Value) -> Value:
        shape = value.shape and tuple(self.dimensions.get(d, d) if isinstance(d, str) else d for d in value.shape)
        return replace(value, shape=shape)

    def strict(self) -> bool:
        """Whether inputs have sizes of one name, or are scalars."""
        inputs = super().read().inputs
        return any(n > 1 for n in sizes(inputs).values()) or any(v.shape == () for v in inputs)

    def loosened(self) -> Adjusted:
        """The model with inputs that need not agree in sizes of one name, nor be scalars."""
        return Adjusted(self.model, self.dimensions, self.initializers, loose=True)

    def written(self, path: str, level: GraphOptimizationLevel) -> None:
        """Write the model, in the standard's operators: as it is, or optimised where the level asks for it."""
        from ...rewriting import optimised
        from ...writing import model_of, save

        if level.optimize:
            save(optimised(model_of(self.read()) if self.dimensions or self.initializers else self.model).after, path)
        else:
            save(self.read(), path)


def sizes(values: list[Value]) -> Counter[str]:
    """How often each name of a size is there."""
    return Counter(d for v in values for d in v.shape or () if isinstance(d, str))
