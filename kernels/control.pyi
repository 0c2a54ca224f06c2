"""Control flow: bodies are programs, run as steps."""
import numpy as np

from .program import Program
from .step import Step

ENDLESS: str

def choose(condition: np.ndarray, first: Program, second: Program, arrays: list[np.ndarray]) -> Step: ...
def repeat(most: np.ndarray | None, condition: np.ndarray | None, carried: list[np.ndarray], captured: list[np.ndarray],
           ends: list[np.ndarray], scans: list[np.ndarray], body: Program, most_iterations: int = ...) -> Step: ...
def scan(lengths: np.ndarray | None, states: list[np.ndarray], inputs: list[np.ndarray], captured: list[np.ndarray],
         ends: list[np.ndarray], outputs: list[np.ndarray], body: Program, length: int, axes: list[int], backward: list[bool],
         batch: int = 1, batched: bool = False) -> Step: ...
