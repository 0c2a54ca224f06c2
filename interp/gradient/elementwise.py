"""Derivatives of elementwise operators; where an operand was repeated, its gradient is summed over the repetitions."""
from __future__ import annotations

from collections.abc import Callable
from math import pi

from ..graph import Node
from .tape import RULES, Tape, derivative

FLOATING = (1, 10, 11, 16, "FLOAT", "FLOAT16", "DOUBLE")  # what a Cast that changes smoothly is to: codes, and names in version 1


def unary(*names: str) -> Callable:
    """Declare derivatives by what the gradient is multiplied with: a function of the tape, the node, its input and its output."""
    def declare(factor: Callable) -> Callable:
        def rule(t: Tape, node: Node, dy: str) -> list:
            return [lambda: t.Mul(dy, factor(t, node, node.inputs[0], node.outputs[0]))]
        RULES.update({("", name): (1, rule) for name in names})
        return factor
    return declare


def one_plus(t: Tape, x: str, sign: int = 1) -> str:
    return (t.Add if sign > 0 else t.Sub)(t.like(x, 1), x)


unary("Neg")(lambda t, node, x, y: t.like(x, -1))
unary("Abs")(lambda t, node, x, y: t.Sign(x))
unary("Exp")(lambda t, node, x, y: y)
unary("Log")(lambda t, node, x, y: t.Reciprocal(x))
unary("Sqrt")(lambda t, node, x, y: t.Div(t.like(x, 0.5), y))
unary("Reciprocal")(lambda t, node, x, y: t.Neg(t.Mul(y, y)))
unary("Sin")(lambda t, node, x, y: t.Cos(x))
unary("Cos")(lambda t, node, x, y: t.Neg(t.Sin(x)))
unary("Tan")(lambda t, node, x, y: one_plus(t, t.Mul(y, y)))
unary("Asin")(lambda t, node, x, y: t.Reciprocal(t.Sqrt(one_plus(t, t.Mul(x, x), -1))))
unary("Acos")(lambda t, node, x, y: t.Neg(t.Reciprocal(t.Sqrt(one_plus(t, t.Mul(x, x), -1)))))
unary("Atan")(lambda t, node, x, y: t.Reciprocal(one_plus(t, t.Mul(x, x))))
unary("Sinh")(lambda t, node, x, y: t.Cosh(x))
unary("Cosh")(lambda t, node, x, y: t.Sinh(x))
unary("Tanh")(lambda t, node, x, y: one_plus(t, t.Mul(y, y), -1))
unary("Asinh")(lambda t, node, x, y: t.Reciprocal(t.Sqrt(one_plus(t, t.Mul(x, x)))))
unary("Acosh")(lambda t, node, x, y: t.Reciprocal(t.Sqrt(t.Sub(t.Mul(x, x), t.like(x, 1)))))
unary("Atanh")(lambda t, node, x, y: t.Reciprocal(one_plus(t, t.Mul(x, x), -1)))
unary("Sigmoid")(lambda t, node, x, y: t.Mul(y, one_plus(t, y, -1)))
unary("Softplus")(lambda t, node, x, y: t.Sigmoid(x))
unary("Softsign")(lambda t, node, x, y: t.Reciprocal(t.Mul(*[one_plus(t, t.Abs(x))] * 2)))
unary("Erf")(lambda t, node, x, y: t.scaled(t.Exp(t.Neg(t.Mul(x, x))), 2 / pi ** 0.5))


def positive(t: Tape, x: str) -> str:
    return t.Greater(x, t.like(x, 0))


@unary("Relu")
def relu(t, node, x, y):
    return t.CastLike(positive(t, x), x)


@unary("LeakyRelu")
def leaky_relu(t, node, x, y):
    return t.Where(positive(t, x), t.like(x, 1), t.like(x, node.attributes["alpha"]))


@unary("Elu")
def elu(t, node, x, y):
    return t.Where(positive(t, x), t.like(x, 1), t.Add(y, t.like(x, node.attributes["alpha"])))


@unary("Selu")
def selu(t, node, x, y):
    alpha, gamma = node.attributes["alpha"], node.attributes["gamma"]
    return t.Where(positive(t, x), t.like(x, gamma), t.Add(y, t.like(x, alpha * gamma)))


def summed(t: Tape, dy: str, x: str) -> Callable[[], str]:
    return lambda: t.SumTo(dy, x)


@derivative("Add", since=7)
def add(t, node, dy):
    return [summed(t, dy, i) for i in node.inputs]


@derivative("Sum", since=8)
def sum_(t, node, dy):
    return [summed(t, dy, i) for i in node.inputs]


@derivative("Mean", since=8)
def mean(t, node, dy):
    return [summed(t, t.scaled(dy, 1 / len(node.inputs)), i) for i in node.inputs]


@derivative("Sub", since=7)
def sub(t, node, dy):
    a, b = node.inputs
    return [summed(t, dy, a), lambda: t.SumTo(t.Neg(dy), b)]


@derivative("Mul", since=7)
def mul(t, node, dy):
    a, b = node.inputs
    return [lambda: t.SumTo(t.Mul(dy, b), a), lambda: t.SumTo(t.Mul(dy, a), b)]


@derivative("Div", since=7)
def div(t, node, dy):
    (a, b), y = node.inputs, node.outputs[0]
    return [lambda: t.SumTo(t.Div(dy, b), a), lambda: t.SumTo(t.Neg(t.Div(t.Mul(dy, y), b)), b)]


@derivative("Pow", since=7)
def pow_(t, node, dy):
    (x, p), y = node.inputs, node.outputs[0]

    def by_base():
        exponent = t.CastLike(p, x)
        return t.SumTo(t.Mul(dy, t.Mul(exponent, t.Pow(x, t.Sub(exponent, t.like(x, 1))))), x)
    return [by_base, lambda: t.CastLike(t.SumTo(t.Mul(dy, t.Mul(y, t.Log(x))), p), p)]


@derivative("Max", "Min", since=8)
def extreme(t, node, dy):
    """The gradient goes to the operands that are the extreme; to equal ones in equal parts."""
    y = node.outputs[0]
    hits = [t.CastLike(t.Equal(i, y), dy) for i in node.inputs]
    share = t.Div(dy, t.Sum(*hits))
    return [lambda i=i, hit=hit: t.SumTo(t.Mul(share, hit), i) for i, hit in zip(node.inputs, hits, strict=True)]


@derivative("Where")
def where(t, node, dy):
    cond, a, b = node.inputs
    zero = t.like(dy, 0)
    return [None, lambda: t.SumTo(t.Where(cond, dy, zero), a), lambda: t.SumTo(t.Where(cond, zero, dy), b)]


@derivative("Clip", since=11)
def clip(t, node, dy):
    """Nothing passes where a limit holds."""
    x, y = node.inputs[0], node.outputs[0]
    return [lambda: t.Mul(dy, t.CastLike(t.Equal(x, y), x))]


@derivative("Cast")
def cast(t, node, dy):
    return [lambda: t.CastLike(dy, node.inputs[0])] if node.attributes["to"] in FLOATING else [None]


@derivative("CastLike")
def cast_like(t, node, dy):
    return [lambda: t.CastLike(dy, node.inputs[0])]


@derivative("Identity")
def identity(t, node, dy):
    return [lambda: dy]


@derivative("Dropout", since=12)
def dropout(t, node, dy):
    """What was dropped gets nothing; the rest is scaled as it was."""
    x, ratio, training = [*node.inputs, "", ""][:3]
    if not training:
        return [lambda: dy]

    def kept():
        mask = t.output(node, 1)
        rate = t.CastLike(ratio, x) if ratio else t.like(x, 0.5)
        scale = t.Where(training, t.Reciprocal(t.Sub(t.like(x, 1), rate)), t.like(x, 1))
        return t.Mul(t.Mul(dy, t.CastLike(mask, x)), scale)
    return [kept]
