"""What operators make of their attributes, such as packed trees or look-up tables, is made once a node."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

KEPT = 64  # results that outlive their sessions, at the most


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """``make`` for attributes: the same objects give the same result again, without a look into them.

    Attributes live as long as their node, and neither a run nor binding to new shapes must look through thousands of them.
    """
    made: OrderedDict[tuple[int, ...], tuple[Any, tuple[Any, ...]]] = OrderedDict()

    @wraps(make)
    def remembered(*given: Any) -> Any:
        key = tuple([g if type(g) is int else id(g) for g in given])
        if (found := made.get(key)) is None:
            found = made[key] = make(*given), given  # what is kept alive keeps its id
            while len(made) > KEPT:
                made.popitem(last=False)
        return found[0]

    return remembered
