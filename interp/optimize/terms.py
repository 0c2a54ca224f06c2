"""Products and sums as exporters spell them: numbers before or behind, factors in any order."""
from __future__ import annotations

from ..graph import Node
from ..record import field, record
from ..types import FLOATS
from .rewrite import Rewriter

CLOSE = {"tensor(double)": 1e-6, "tensor(float)": 1e-6, "tensor(float16)": 1e-3, "tensor(bfloat16)": 1e-2}


@record
class Product:
    """A number times some values, and the nodes that multiply them."""

    number: float = 1.0
    factors: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


def product(at: Rewriter, node: Node) -> Product | None:
    """What a Mul or a Div by a number multiplies, through products that nothing else reads."""
    found = Product(nodes=[node])
    if node.attributes.get("broadcast") is not None:
        return None
    for k, i in enumerate(node.inputs):
        number = at.number(i)
        divides = k == 1 and node.schema.name == "Div"
        if number is not None:
            if divides and number == 0:
                return None
            found.number = found.number / number if divides else found.number * number
        elif divides:
            return None
        else:
            inner = at.maker(i, "Mul", "Div") if at.sole(i) is node else None
            part = product(at, inner) if inner is not None else None
            if part is None:
                found.factors.append(i)
            else:
                found.number *= part.number
                found.factors += part.factors
                found.nodes += part.nodes
    return found


def product_of(at: Rewriter, value: str) -> Product:
    """The product that makes a value which one node reads; the value alone where there is none."""
    maker = at.maker(value, "Mul", "Div") if at.sole(value) else None
    return (product(at, maker) if maker is not None else None) or Product(factors=[value])


def plus(at: Rewriter, value: str) -> tuple[str, float, Node] | None:
    """The value and the number whose sum a value is that one node reads, and the node that adds."""
    node = at.maker(value, "Add") if at.sole(value) else None
    if node is None or node.attributes.get("broadcast") is not None:
        return None
    a, b = node.inputs
    for one, other in ((a, b), (b, a)):
        number = at.number(other)
        if number is not None and at.number(one) is None:
            return one, number, node
    return None


def near(at: Rewriter, value: str, found: float, due: float) -> bool:
    """Whether a number is the one that is due, to what the type of a value can tell apart."""
    return abs(found - due) <= CLOSE.get(at.type(value), 0.0) * abs(due)


def floating(at: Rewriter, value: str) -> bool:
    return at.type(value) in FLOATS


def keeps(at: Rewriter, x: str, y: str) -> bool:
    """Whether two values of a floating type have the same shape, as far as it is known."""
    shape = at.shape(x)
    return floating(at, x) and shape is not None and shape == at.shape(y)
