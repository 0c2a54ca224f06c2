"""Rows of features in, raw scores, labels and transformed scores out: what classifiers and regressors of all kinds share."""

class Rule:
    transform: int
    scores: int
    second: str
    positive: int
    limit: float
    def __init__(self, transform: str, scores: int, second: str = "alone", positive: int = -1, limit: float = 0.0) -> None: ...
    @property
    def width(self) -> int: ...
    @property
    def classes(self) -> int: ...
