"""Sines, cosines, tangents and their inverses, circular and hyperbolic."""
from ..kernels import elementwise
from ..registry import Op, op
from ..types import FLOATS
from .shapes import same


def _angle(name: str, since: int) -> Op:
    """A function of every element; where it has no value the result is NaN."""
    @op(name, since, 22, shape=same, inplace=(0,), types=FLOATS)
    def function(input, *, out):
        return elementwise.unary(name.lower(), input, out)
    return function


sin, cos, tan, asin, acos, atan = (_angle(n, 7) for n in ("Sin", "Cos", "Tan", "Asin", "Acos", "Atan"))
sinh, cosh, asinh, acosh, atanh = (_angle(n, 9) for n in ("Sinh", "Cosh", "Asinh", "Acosh", "Atanh"))
