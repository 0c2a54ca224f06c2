"""If, Loop, Scan and SequenceMap with bodies that choose, swap and shift values of every type."""
import numpy as np
from onnx import TensorProto, defs, helper

from .case import Case, case, type_proto


def copies(spec, kind, pairs):
    """Nodes that copy values from name to name: loops of one iteration where no Identity of the version takes the type."""
    allowed = {t for c in defs.get_schema("Identity", spec.version, "").type_constraints for t in c.allowed_type_strs}
    if kind in allowed:
        return [helper.make_node("Identity", [a], [b]) for a, b in pairs]
    once = helper.make_node("Constant", [], ["once"], value=helper.make_tensor("once", TensorProto.INT64, [], [1]))
    given = [("i", "tensor(int64)"), ("go", "tensor(bool)"), ("v", kind)]
    graph = helper.make_graph([helper.make_node("Identity", ["go"], ["on"])], "once",
                              [helper.make_value_info(n, type_proto(t)) for n, t in given],
                              [helper.make_value_info(n, type_proto(t)) for n, t in (("on", "tensor(bool)"), ("v", kind))])
    return [once, *(helper.make_node("Loop", ["once", "", a], [b], body=graph) for a, b in pairs)]


def body(spec, inputs, flags, kind, pairs):
    """A graph that copies `pairs` of one type; `inputs` are its (name, type), `flags` conditions, copied and given before all."""
    nodes = copies(spec, "tensor(bool)", flags) + copies(spec, kind, pairs)
    outputs = [(b, "tensor(bool)") for _, b in flags] + [(b, kind) for _, b in pairs]
    return helper.make_graph(nodes, "body", *([helper.make_value_info(n, type_proto(t)) for n, t in names]
                                              for names in (inputs, outputs)))


@case("If")
def if_(spec):
    """The branch that the condition names, of two that give values from outside."""
    kind = spec.types["V"]
    yes, no = spec.data((2, 3), "V"), spec.data((2, 3), "V")
    branches = {name: body(spec, [], [], kind, [(outer, f"{outer}_given"), ("common", f"{outer}_common")])
                for name, outer in (("then_branch", "yes"), ("else_branch", "no"))}
    common = spec.data((4,), "V")
    cond = spec.rng.integers(0, 2, ()).astype(bool)
    return Case([cond], [yes if cond else no, common], exact=True,
                outer={n: (kind, v) for n, v in (("yes", yes), ("no", no), ("common", common))}, **branches)


@case("Loop")
def loop(spec):
    """Three times, two values change places; tensors are collected, beside one from outside."""
    kind = spec.types["V"]
    a, b, outside = (spec.data((2, 3), "V") for _ in range(3))
    collected = [("a", "seen"), ("outside", "with")] if kind.startswith("tensor") else []
    inputs = [("i", "tensor(int64)"), ("c", "tensor(bool)"), ("a", kind), ("b", kind)]
    graph = body(spec, inputs, [("c", "d")], kind, [("b", "p"), ("a", "q"), *collected])
    scans = [np.stack([a, b, a]), np.stack([outside] * 3)] if collected else []
    return Case([np.array(3), np.array(True), a, b], [b, a, *scans], exact=True, body=graph,
                outer={"outside": (kind, outside)} if collected else {})


@case("Scan")
def scan(spec):
    """The state becomes the element, and what the state was is collected: elements move one place on."""
    kind = spec.types["V"]
    graph = body(spec, [("state", kind), ("element", kind)], [], kind, [("element", "next"), ("state", "was")])
    if spec.version == 8:
        state, x = spec.data((2, 3), "V"), spec.data((2, 4, 3), "V")
        lens = np.array([4, 3])
        moved = np.stack([np.concatenate([[s], np.flip(r[:n], 0)[:-1], np.zeros((4 - n, 3), r.dtype)])
                          for s, r, n in zip(state, x, lens, strict=True)])
        if kind == "tensor(string)":
            moved[1, 3] = ""
        return Case([lens, state, x], [x[:, 0].copy(), moved], exact=True, body=graph, num_scan_inputs=1, directions=[1])
    state, x = spec.data((3,), "V"), spec.data((3, 4), "V")
    moved = np.stack([state, *x[:, :0:-1].T])  # the elements before the last, from the end
    ways = {f"scan_{end}_{what}": [1] for end in ("input", "output") for what in ("axes", "directions")}
    return Case([state, x], [x[:, 0].copy(), moved[::-1].T.copy()], exact=True, body=graph, num_scan_inputs=1, **ways)


@case("SequenceMap")
def sequence_map(spec):
    """Each element, and what stands beside it, changed about."""
    one, other = spec.types["S"].removeprefix("seq(")[:-1], spec.types["V"]
    element = other.removeprefix("seq(")[:-1] if other.startswith("seq") else other
    s, v = spec.data((2, 3), "S"), spec.data((2,), "V")
    nodes = copies(spec, element, [("v", "q")]) + copies(spec, one, [("u", "p")])
    graph = helper.make_graph(nodes, "body", *([helper.make_value_info(n, type_proto(t)) for n, t in names]
                                               for names in ((("u", one), ("v", element)), (("q", element), ("p", one)))))
    return Case([s, v], [v if isinstance(v, list) else [v, v], s], exact=True, body=graph)
