"""Linear models and support vector machines: LinearClassifier, LinearRegressor, SVMClassifier, SVMRegressor."""
from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Fact
from ...kernels.margins import Machine, scores
from ...kernels.scores import Rule
from ...registry import op
from ..once import once
from .classes import classified, label_type, labels_of, numbered, rows

DOMAIN = "ai.onnx.ml"


def rows_of_coefficients(coefficients: Any, features: int, what: str = "coefficients") -> np.ndarray:
    """Coefficients as a row of them for each score."""
    given = np.array(() if coefficients is None else coefficients, np.float64)
    if not given.size or not features or given.size % features:
        raise ValueError(f"{given.size} {what} are not rows of {features}, one for each feature")
    return given.reshape(-1, features)


def numbers(given: Any, name: str, least: int) -> np.ndarray:
    """An attribute of at least so many numbers."""
    found = np.array(() if given is None else given, np.float64)
    if found.size < least:
        raise ValueError(f"{name} has {found.size} numbers, {least} are due")
    return found


def shift_of(intercepts: Any, n: int) -> np.ndarray:
    if intercepts is not None and len(intercepts) not in (0, n):
        raise ValueError(f"{len(intercepts)} intercepts for {n} rows of coefficients")
    return np.array(intercepts or [0.0] * n, np.float64)


# Linear models

@once
def linear_model(coefficients: Any, intercepts: Any, features: int) -> Machine:
    vectors = rows_of_coefficients(coefficients, features)
    return Machine(vectors, shift_of(intercepts, len(vectors)))


@once
def linear_rule(ints: Any, strings: Any, transform: str, n: int) -> tuple[Rule, np.ndarray, np.ndarray]:
    """How n scores become labels: one score is that of the second of two classes, or of the only one."""
    labels, classes = labels_of(ints, strings), len(ints or strings)
    if n == 1 and classes < 3:
        rule = Rule(transform, 1, "complement" if classes == 2 else "alone", 0)
    elif n == classes:
        rule = Rule(transform, n)
    else:
        raise ValueError(f"{n} rows of coefficients for {classes} classes")
    return rule, labels, numbered(labels)


def _linear_classes(x: Fact, *, classlabels_ints: Any = None, classlabels_strings: Any = None, **_: Any) -> list[Any]:
    n = rows(x)
    kind = label_type(classlabels_ints, classlabels_strings)
    return [Fact(kind, (n,)), (n, len(classlabels_ints or classlabels_strings or ()))]


@op("LinearClassifier", 1, 1, domain=DOMAIN, shape=_linear_classes, cells=True)
def linear_classifier(x, *, classlabels_ints, classlabels_strings, coefficients, intercepts, multi_class, post_transform, out):
    """The class whose linear function of the features is largest, and the values of all, transformed.

    One function for two classes is that of the second: the first has 1 less its value, or under LOGISTIC the logistic of
    its opposite, as in onnxruntime. multi_class changes nothing: post_transform says what it would.
    """
    machine = linear_model(coefficients, intercepts, x.shape[-1])
    rule, labels, written = linear_rule(classlabels_ints, classlabels_strings, post_transform, machine.scores)
    return classified(lambda y, z: scores(x, machine, rule, written, y, z), x, labels, out)


def _linear_targets(x: Fact, *, targets: int, **_: Any) -> list[Any]:
    return [(rows(x), targets)]


@op("LinearRegressor", 1, 1, domain=DOMAIN, shape=_linear_targets)
def linear_regressor(x, *, coefficients, intercepts, post_transform, targets, out):
    """A linear function of the features for each target, transformed."""
    machine = linear_model(coefficients, intercepts, x.shape[-1])
    if machine.scores != targets:
        raise ValueError(f"{machine.scores} rows of coefficients for {targets} targets")
    return scores(x, machine, rule_of(post_transform, targets), None, None, out)


@once
def rule_of(transform: str, n: int) -> Rule:
    return Rule(transform, n)


# Support vector machines

def bend_of(kernel_type: str, kernel_params: Any) -> tuple[str, tuple[float, ...]]:
    """A kernel's name, and its gamma, coef0 and degree."""
    if kernel_type != "LINEAR" and len(kernel_params or ()) != 3:
        raise ValueError(f"kernel_params has {len(kernel_params or ())} numbers, 3 are due: gamma, coef0 and degree")
    return kernel_type, tuple(kernel_params) if kernel_params and len(kernel_params) == 3 else (0.0, 0.0, 0.0)


@once
def vector_classifier(ints: Any, strings: Any, coefficients: Any, kernel_params: Any, kernel_type: str, prob_a: Any, prob_b: Any,
                      rho: Any, support_vectors: Any, vectors_per_class: Any, transform: str,
                      features: int) -> tuple[Machine, Rule, np.ndarray, np.ndarray]:
    labels, n = labels_of(ints, strings), len(ints or strings)
    if not support_vectors:
        vectors = rows_of_coefficients(coefficients, features)
        if len(vectors) != n:
            raise ValueError(f"{len(vectors)} rows of coefficients for {n} classes")
        machine = Machine(vectors, np.full(n, numbers(rho, "rho", 1)[0]))
        return machine, Rule(transform, n) if n > 1 else Rule(transform, 1, positive=0), labels, numbered(labels)
    vectors = rows_of_coefficients(support_vectors, features, "support_vectors")
    if n < 2 or len(vectors_per_class or ()) != n or min(vectors_per_class) < 0 or sum(vectors_per_class) != len(vectors):
        raise ValueError(f"{len(vectors)} support vectors, {list(vectors_per_class or ())} of the {n} classes")
    if bool(prob_a) != bool(prob_b):
        raise ValueError("prob_a and prob_b come together")
    weights = numbers(coefficients, "coefficients", (n - 1) * len(vectors))
    if len(weights) != (n - 1) * len(vectors):
        raise ValueError(f"{len(weights)} coefficients for {len(vectors)} support vectors of {n} classes")
    pairs = n * (n - 1) // 2
    kernel, parameters = bend_of(kernel_type, kernel_params)
    probabilities = (numbers(prob_a, "prob_a", pairs), numbers(prob_b, "prob_b", pairs)) if prob_a else None
    ends = np.cumsum(vectors_per_class, dtype=np.intp)
    machine = Machine(vectors, numbers(rho, "rho", pairs), weights.reshape(n - 1, -1), ends, kernel, parameters, probabilities)
    second = "alone" if machine.scores > 1 else "negated" if transform in ("NONE", "LOGISTIC") else "complement"
    return machine, Rule(transform, machine.scores, second), labels, numbered(labels)


def _machine_classes(x: Fact, *, classlabels_ints: Any = None, classlabels_strings: Any = None, prob_a: Any = None,
                     support_vectors: Any = None, **_: Any) -> list[Any]:
    n, classes = rows(x), len(classlabels_ints or classlabels_strings or ())
    pairs = classes * (classes - 1) // 2
    width = classes if prob_a or not support_vectors else max(pairs, 2)
    return [Fact(label_type(classlabels_ints, classlabels_strings), (n,)), (n, width)]


@op("SVMClassifier", 1, 1, domain=DOMAIN, shape=_machine_classes, cells=True)
def svm_classifier(x, *, classlabels_ints, classlabels_strings, coefficients, kernel_params, kernel_type, post_transform, prob_a,
                   prob_b, rho, support_vectors, vectors_per_class, out):
    """The class that wins most pairs, and probabilities, or else the margins of all pairs, transformed.

    Of two classes the margin d becomes (-d, d). Without support vectors there is a linear function for each class, and the
    largest wins. Where the text is silent this is what LIBSVM and onnxruntime do.
    """
    machine, rule, labels, written = vector_classifier(
        classlabels_ints, classlabels_strings, coefficients, kernel_params, kernel_type, prob_a, prob_b, rho, support_vectors,
        vectors_per_class, post_transform, x.shape[-1])
    return classified(lambda y, z: scores(x, machine, rule, written, y, z), x, labels, out)


@once
def vector_regressor(coefficients: Any, kernel_params: Any, kernel_type: str, n_supports: int, one_class: int, rho: Any,
                     support_vectors: Any, features: int) -> Machine:
    shift = numbers(rho, "rho", 1)[:1].copy()
    if not n_supports:
        vectors = rows_of_coefficients(coefficients, features)
        if len(vectors) != 1:
            raise ValueError(f"{len(vectors)} rows of coefficients for one target")
        return Machine(vectors, shift, one_class=bool(one_class))
    vectors = rows_of_coefficients(support_vectors, features, "support_vectors")
    weights = numbers(coefficients, "coefficients", 1)
    if not len(vectors) == len(weights) == n_supports:
        raise ValueError(f"{len(vectors)} support vectors and {len(weights)} coefficients, n_supports is {n_supports}")
    kernel, parameters = bend_of(kernel_type, kernel_params)
    return Machine(vectors, shift, weights[None], np.array([n_supports], np.intp), kernel, parameters, None, bool(one_class))


@op("SVMRegressor", 1, 1, domain=DOMAIN, shape=lambda x, **_: [(rows(x), 1)])
def svm_regressor(x, *, coefficients, kernel_params, kernel_type, n_supports, one_class, post_transform, rho, support_vectors,
                  out):
    """The weighted sum of the kernel's values with all support vectors, transformed; its sign, 1 or -1, for one class."""
    machine = vector_regressor(coefficients, kernel_params, kernel_type, n_supports, one_class, rho, support_vectors, x.shape[-1])
    return scores(x, machine, rule_of(post_transform, 1), None, None, out)
