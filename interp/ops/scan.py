"""Scan and SequenceMap: a body over the elements of tensors along an axis, or of sequences."""
from __future__ import annotations

import numpy as np

from ..dims import Fact
from ..kernels import control
from ..kernels.step import Later
from ..record import record
from ..registry import op
from .control import delivered, duplicate, steady
from .sequence import element_of
from .shapes import axis_of, shape_of


@record(frozen=True)
class Ways:
    """How a scan goes over its inputs and builds its outputs; ``skip`` axes before all others are the batch's."""

    states: int
    inputs: int
    outputs: int
    axes: tuple[int, ...]  # of the inputs, then of the outputs
    backward: tuple[bool, ...]
    skip: int = 0

    def axis(self, k: int, rank: int) -> int:
        """The axis along which the elements of an input, or of an output after those, lie behind the batch's."""
        return axis_of(self.axes[k], rank - self.skip)


def ways(values, body, inputs, flags, skip=0):
    """The ways of a node, from its lists of axes and directions: two for the inputs, two for the outputs."""
    states, outputs = len(values) - body.captured - inputs, 0
    takes, gives = len(body.graph.inputs) - body.captured, len(body.graph.outputs)
    if inputs < 1 or states < 0 or takes != states + inputs or gives < states:
        raise ValueError(f"{states} states and {inputs} inputs to scan: the body has {takes} inputs and {gives} outputs")
    outputs = gives - states
    lists = [tuple(given or (0,) * due) for given, due in zip(flags, (inputs, inputs, outputs, outputs), strict=True)]
    for name, given, due in zip(("axes", "directions") * 2, lists, (inputs, inputs, outputs, outputs), strict=True):
        if len(given) != due or name == "directions" and not {*given} <= {0, 1}:
            raise ValueError(f"{name} {list(given)} for {due}")
    return Ways(states, inputs, outputs, lists[0] + lists[2], tuple(map(bool, lists[1] + lists[3])), skip)


def result(values, body, w, batch=()):
    """The facts of a scan's outputs: states, and elements stacked along their axes."""
    elements, length = [], None
    for k, x in enumerate(values[w.states:w.states + w.inputs]):
        shape = shape_of(x)[w.skip:]
        at = w.axis(k, len(shape) + w.skip)
        if isinstance(length, int) and isinstance(shape[at], int) and shape[at] != length:
            raise ValueError(f"inputs to scan have {length} and {shape[at]} elements")
        length = shape[at] if not isinstance(length, int) else length
        elements.append(Fact(x.type, shape[:at] + shape[at + 1:]))
    inner = [Fact(v.type, None if v.shape is None else v.shape[w.skip:]) for v in values[:w.states]]
    captured = values[w.states + w.inputs:]
    states, made = steady(inner, lambda carried: body.infer([*carried, *elements, *captured]))
    found = [Fact(s.type, None if s.shape is None else (*batch, *s.shape)) for s in states]
    for k, f in enumerate(made[w.states:]):
        if f.shape is not None:
            at = axis_of(w.axes[w.inputs + k], len(f.shape) + 1)
            f = Fact(f.type, (*batch, *f.shape[:at], length, *f.shape[at:]))
        found.append(f)
    return found


def scanned(*values, body, num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions):
    """States keep the sizes that no iteration changes; an output has as many elements as the inputs."""
    flags = scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions
    return result(values, body, ways(values, body, num_scan_inputs, flags))


@op("Scan", 9, 25, shape=scanned)
def scan(*initial_state_and_scan_inputs, body, num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes,
         scan_output_directions, out):
    """A body over the elements of inputs along an axis, with states carried on, and elements of outputs collected."""
    values = initial_state_and_scan_inputs
    flags = scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions
    return bind(None, values, body, ways(values, body, num_scan_inputs, flags), out)


def batched(sequence_lens, *values, body, num_scan_inputs, directions):
    """The same for every item of a batch, the first axis of states, inputs and outputs."""
    w = ways(values, body, num_scan_inputs, (None, directions, None, None), 1)
    sizes = {shape_of(v)[0] if shape_of(v) else None for v in values[:w.states + w.inputs]}
    if None in sizes or len({n for n in sizes if isinstance(n, int)}) > 1:
        raise ValueError("states and inputs to scan have one batch size, their first axis")
    return result(values, body, w, (min(sizes, key=lambda n: not isinstance(n, int)),))


@op("Scan", 8, 8, shape=batched)
def scan_8(sequence_lens, *initial_state_and_scan_inputs, body, num_scan_inputs, directions, out):
    """A body over the elements along axis 1, for each item of a batch; outputs are 0 beyond the length of a sequence."""
    values = initial_state_and_scan_inputs
    return bind(sequence_lens, values, body, ways(values, body, num_scan_inputs, (None, directions, None, None), 1), out)


def bind(lengths, values, body, w, out):
    """The scan as a step, where the body needs no interpreter and every state keeps its size; else as a call put off."""
    values = list(values)
    if out is not None and all(o is not None for o in out):
        made = compiled(lengths, values, body, w, out)
        if made is not None:
            return made
    return Later(walked, lengths, body, w, out and len(out), *values, *(out or ()))


def compiled(lengths, values, body, w, out):
    n, end = w.states, w.states + w.inputs
    states, inputs, captured = values[:n], values[n:end], values[end:]
    if any(a.shape != o.shape for a, o in zip(states, out, strict=False)):
        return None
    axes = [w.axis(k, x.ndim) for k, x in enumerate([*inputs, *out[n:]])]
    elements = [np.empty(x.shape[w.skip:][:at] + x.shape[w.skip:][at + 1:], x.dtype)
                for x, at in zip(inputs, axes, strict=False)]
    program = body.program([*(np.empty(s.shape[w.skip:], s.dtype) for s in states), *elements, *captured])
    if program is None:
        return None
    batch = inputs[0].shape[0] if w.skip else 1
    return control.scan(lengths, states, inputs, captured, out[:n], out[n:], program, inputs[0].shape[w.skip:][axes[0]], axes,
                        list(w.backward), batch, bool(w.skip))


def walked(lengths, body, w, wanted, *arrays):
    """Run the scan from Python: states may change their sizes."""
    split = len(arrays) - (wanted or 0)
    values, outs = arrays[:split], arrays[split:]
    n, end = w.states, w.states + w.inputs
    if not w.skip:
        found = one_sequence(values[:n], values[n:end], values[end:], body, w, None)
    else:
        batch = range(values[n].shape[0])
        items = [one_sequence([v[i, ...] for v in values[:n]], [v[i, ...] for v in values[n:end]], values[end:], body, w,
                              None if lengths is None else int(lengths[i])) for i in batch]
        if not items and not outs:
            raise ValueError("only an item of the batch tells the shapes, and it has none")
        found = [np.stack(rows) for rows in zip(*items, strict=True)] if items else list(outs)
    return delivered(found, outs)


def one_sequence(states, inputs, captured, body, w, count):
    """The last states and the collected outputs of one sequence, of which only ``count`` elements are meant."""
    inputs = [np.moveaxis(x, axis_of(w.axes[k], x.ndim), 0) for k, x in enumerate(inputs)]
    length = len(inputs[0])
    if any(len(x) != length for x in inputs) or not 0 <= (length if count is None else count) <= length:
        raise ValueError(f"sequences of {[len(x) for x in inputs]} elements, of which {count} are meant")
    count, rows = length if count is None else count, []
    states = list(states)
    for t in range(count):
        elements = [x[count - 1 - t if back else t, ...].copy() for x, back in zip(inputs, w.backward, strict=False)]
        made = body.run([*states, *elements, *captured])
        states = made[:w.states]
        rows.append(made[w.states:])
    if rows:
        shapes = [(r.shape, r.dtype) for r in rows[0]]
    else:
        elements = [np.empty(x.shape[1:], x.dtype) for x in inputs]
        announced = body.announced([*states, *elements, *captured])[w.states:]
        shapes = [(tuple(d if isinstance(d, int) else 0 for d in f.shape or ()), f.dtype) for f in announced]
        states = map(duplicate, states)
    return [*states, *(collected([r[k] for r in rows], *shape, length, w, w.inputs + k) for k, shape in enumerate(shapes))]


def collected(elements, shape, dtype, length, w, k):
    """Elements stacked along the axis of an output, and padded to a length."""
    if w.backward[k]:
        elements.reverse()
    elements += [blank(shape, dtype)] * (length - len(elements))
    at = axis_of(w.axes[k], len(shape) + 1)
    return np.stack(elements, at) if elements else np.empty((*shape[:at], 0, *shape[at:]), dtype)


def blank(shape, dtype):
    """What stands beyond the end of a sequence."""
    return np.full(shape, "", object) if dtype.hasobject else np.zeros(shape, dtype)


def mapped(input_sequence, *values, body):
    """A sequence for each output of the body."""
    own = len(values) - body.captured
    given = [Fact(element_of(v.type)) if v.type.startswith("seq") else v for v in (input_sequence, *values[:own])]
    given += values[own:]
    if len(body.graph.inputs) != len(given):
        raise ValueError(f"the body has {len(body.graph.inputs) - body.captured} inputs, not {len(given) - body.captured}")
    return [Fact(f"seq({f.type})") for f in body.infer(given)]


@op("SequenceMap", 17, 17, shape=mapped)
def sequence_map(input_sequence, *additional_inputs, body):
    """A body on each element of a sequence, beside those of other sequences and whole tensors: sequences of what it gives."""
    own = len(additional_inputs) - body.captured
    lists = [isinstance(x, list) for x in additional_inputs[:own]] + [False] * body.captured
    for other, many in zip(additional_inputs, lists, strict=True):
        if many and len(other) != len(input_sequence):
            raise ValueError(f"sequences of {len(input_sequence)} and {len(other)} elements")
    rows = [body.run([x, *(o[k] if many else o for o, many in zip(additional_inputs, lists, strict=True))])
            for k, x in enumerate(input_sequence)]
    return tuple([r[k] for r in rows] for k in range(len(body.outputs)))
