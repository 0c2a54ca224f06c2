"""Running a model node by node, each called at once: the slow path that bound programs are compared with."""
import numpy as np

from interp.call import call, duplicate
from interp.parts import bodies_of


def values_of(session, feeds):
    """Every value of a run, by name."""
    settings = session._settings
    arrays = [np.asarray(a) if isinstance(a := feeds[i], np.generic) else a for i in session._body.inputs]
    model = session._body.model(arrays)
    values = {**model.graph.constants, **dict(zip(model.inputs, arrays, strict=True))}
    bodies = bodies_of(model.scope, settings)
    for node in model.graph.nodes:
        made = call(node, [values[i] if i else None for i in node.inputs], {**node.attributes, **bodies.get(id(node), {})},
                    settings.constant, session.threads, settings.most_bytes)
        values |= {o: m for o, m in zip(node.outputs, made, strict=False) if o}
    return values


def unbound(session, feeds):
    """The outputs, in the model's order."""
    values = values_of(session, feeds)
    return [duplicate(values[v.name]) for v in session.outputs]
