"""RNN, GRU and LSTM against their equations, in float64 and one item at a time."""
import numpy as np

from .case import Case, case

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def function(name, alpha=None, beta=None):
    """An activation by its formula, with the parameters that the operator of this name has by default."""
    def of(usual, given):
        return usual if given is None else given
    return {
        "Relu": lambda x: np.maximum(0, x),
        "Tanh": lambda x: (1 - np.exp(-2 * x)) / (1 + np.exp(-2 * x)),
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "Affine": lambda x: of(1, alpha) * x + of(0, beta),
        "LeakyRelu": lambda x: np.where(x >= 0, x, of(0.01, alpha) * x),
        "ThresholdedRelu": lambda x: np.where(x >= of(1, alpha), x, 0),
        "ScaledTanh": lambda x: of(1, alpha) * np.tanh(of(1, beta) * x),
        "HardSigmoid": lambda x: np.minimum(np.maximum(of(0.2, alpha) * x + of(0.5, beta), 0), 1),
        "Elu": lambda x: np.where(x >= 0, x, of(1, alpha) * (np.exp(x) - 1)),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Softplus": lambda x: np.log(1 + np.exp(x)),
    }[name]


def layer(cell, X, W, R, B=None, lens=None, h=None, c=None, P=None, *, direction="forward", layout=0, clip=None,
          functions=None, input_forget=0, linear_before_reset=0):
    """Y, Y_h and, of an LSTM, Y_c. `functions`: a callable for each activation of each direction."""
    X, W, R, B, h, c, P = (None if a is None else a.astype(np.float64) for a in (X, W, R, B, h, c, P))
    if layout:
        X, h, c = (None if a is None else a.swapaxes(0, 1) for a in (X, h, c))
    (steps, batch, _), (directions, _, hidden) = X.shape, R.shape
    f = functions or [function(n) for n in FUNCTIONS[cell]] * directions
    per = len(f) // directions
    Y = np.zeros((steps, directions, batch, hidden))
    H, C = (np.zeros((directions, batch, hidden)) if s is None else s.copy() for s in (h, c))
    for d in range(directions):
        backward = direction == "reverse" or d == 1
        bias = np.zeros(2 * GATES[cell] * hidden) if B is None else B[d]
        peephole = np.zeros(3 * hidden) if P is None else P[d]
        mine = [clipped(g, clip) for g in f[d * per:(d + 1) * per]]
        for b in range(batch):
            length = steps if lens is None else lens[b]
            for t in reversed(range(length)) if backward else range(length):
                H[d, b], C[d, b] = step(cell, X[t, b], W[d], R[d], bias, H[d, b], C[d, b], peephole, mine, input_forget,
                                        linear_before_reset)
                Y[t, d, b] = H[d, b]
    if layout:
        Y, H, C = Y.transpose(2, 0, 1, 3), H.swapaxes(0, 1), C.swapaxes(0, 1)
    return [Y, H, C] if cell == "LSTM" else [Y, H]


def clipped(f, most):
    """An activation whose input is clipped."""
    return f if most is None else lambda x: f(np.clip(x, -most, most))


def step(cell, x, W, R, bias, h, c, P, f, input_forget, linear_before_reset):
    """The equations of one step."""
    n = len(h)
    Wb, Rb = np.split(bias, 2)
    w, r, wb, rb = ([a[k * n:(k + 1) * n] for k in range(GATES[cell])] for a in (W, R, Wb, Rb))

    def whole(k):
        return x @ w[k].T + h @ r[k].T + wb[k] + rb[k]
    if cell == "RNN":
        return f[0](whole(0)), c
    if cell == "GRU":
        z, reset = f[0](whole(0)), f[0](whole(1))
        inner = reset * (h @ r[2].T + rb[2]) if linear_before_reset else (reset * h) @ r[2].T + rb[2]
        made = f[1](x @ w[2].T + inner + wb[2])
        return (1 - z) * made + z * h, c
    i = f[0](whole(0) + P[:n] * c)
    forget = 1 - i if input_forget else f[0](whole(2) + P[2 * n:] * c)
    new = forget * c + i * f[1](whole(3))
    o = f[0](whole(1) + P[n:2 * n] * new)
    return o * f[2](new), new


@case("RNN", "GRU", "LSTM")
def recurrent(spec):
    """All inputs and attributes that the version has, in both directions."""
    g, hidden, batch, steps = GATES[spec.op], 3, 2, 4
    layout = 1 if spec.has("layout") else 0
    state = (batch, 2, hidden) if layout else (2, batch, hidden)
    shapes = {"X": (batch, steps, 5) if layout else (steps, batch, 5), "W": (2, g * hidden, 5), "R": (2, g * hidden, hidden),
              "B": (2, 2 * g * hidden)}
    X, W, R, B = (spec.data(s, "T", -1, 1) for s in shapes.values())
    lens = np.array([4, 3], np.int32)
    h, c = spec.data(state, "T", -1, 1), spec.data(state, "T", -1, 1)
    P = spec.data((2, 3 * hidden), "T", -1, 1)
    lstm = [c, P] if spec.op == "LSTM" else []
    names = [*FUNCTIONS[spec.op][:-1], "LeakyRelu", *FUNCTIONS[spec.op][:-1], "Affine"]
    functions = [function(n, *{"LeakyRelu": (0.5,), "Affine": (0.75, 0.25)}.get(n, ())) for n in names]
    extra = {k: v for k, v in (("input_forget", 1), ("linear_before_reset", 1)) if spec.has(k)}
    due = layer(spec.op, X, W, R, B, lens, h, *lstm, direction="bidirectional", layout=layout, clip=2.0, functions=functions,
                **extra)
    old = {"output_sequence": 1} if spec.has("output_sequence") else {}
    return Case([X, W, R, B, lens, h, *lstm], due, activations=names, activation_alpha=[0.5, 0.75],
                activation_beta=[0.25], clip=2.0, direction="bidirectional", hidden_size=hidden, **extra, **old,
                **({"layout": 1} if layout else {}))
