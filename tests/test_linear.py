"""Linear models and support vector machines against formulas, LIBSVM's probabilities, and attributes that lie."""

import numpy as np
import pytest

import interp

from .scores import TRANSFORMS
from .test_trees import run

BENDS = {
    "LINEAR": lambda p, d: p,
    "POLY": lambda p, d: (0.5 * p + 0.25) ** 3,
    "RBF": lambda p, d: np.exp(-0.5 * d),
    "SIGMOID": lambda p, d: np.tanh(0.5 * p + 0.25),
}
PARAMETERS = [0.5, 0.25, 3.0]


def products(kernel, x, vectors):
    """The kernel of every row with every vector."""
    x, vectors = x.astype(np.float64), vectors.astype(np.float64)
    return BENDS[kernel](x @ vectors.T, ((x[:, None] - vectors) ** 2).sum(2))


def draw(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("kernel", BENDS)
@pytest.mark.parametrize("n, features, count", [(0, 3, 2), (1, 1, 1), (5, 4, 7), (9, 13, 33)])
def test_regression_by_every_kernel(kernel, n, features, count):
    x, vectors, weights = draw(n, features), draw(count, features), draw(count)
    y = run(
        "SVMRegressor",
        1,
        x,
        dict(
            coefficients=weights.tolist(),
            support_vectors=vectors.ravel().tolist(),
            n_supports=count,
            rho=[0.5],
            kernel_type=kernel,
            kernel_params=PARAMETERS,
        ),
    )
    np.testing.assert_allclose(y[:, 0], products(kernel, x, vectors) @ weights + 0.5, 1e-4, 1e-4)


def test_regression_without_vectors_is_linear():
    x, weights = draw(5, 4), draw(4)
    y = run("SVMRegressor", 1, x, dict(coefficients=weights.tolist(), rho=[0.5]))
    np.testing.assert_allclose(y[:, 0], x @ weights + 0.5, 1e-5)


def test_one_class_is_in_or_out():
    x, vectors, weights = draw(50, 4), draw(6, 4), draw(6)
    y = run(
        "SVMRegressor",
        1,
        x,
        dict(coefficients=weights.tolist(), support_vectors=vectors.ravel().tolist(), n_supports=6, rho=[0.0], one_class=1),
    )
    np.testing.assert_array_equal(y[:, 0], np.where(products("LINEAR", x, vectors) @ weights > 0, 1, -1))


def machine(classes, kernel, **more):
    """Attributes of a classifier, a function from rows to the margins of pairs, and the pairs."""
    counts = [3, 2, 4, 1][:classes]
    vectors, weights = draw(sum(counts), 3), draw(classes - 1, sum(counts))
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    rho, ends = draw(len(pairs), 1).ravel() / 4, np.cumsum([0, *counts])

    def margins(x):
        k, found = products(kernel, x, vectors), []
        for (i, j), shift in zip(pairs, rho, strict=True):
            of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
            found.append(k[:, of_i] @ weights[j - 1, of_i] + k[:, of_j] @ weights[i, of_j] + shift)
        return np.stack(found, 1)

    return (
        dict(
            vectors_per_class=counts,
            support_vectors=vectors.ravel().tolist(),
            coefficients=weights.ravel().tolist(),
            rho=rho.tolist(),
            kernel_type=kernel,
            kernel_params=PARAMETERS,
            classlabels_ints=[5, 3, 8, 1][:classes],
            **more,
        ),
        margins,
        pairs,
    )


def winners(margins, pairs, classes):
    won = np.zeros((len(margins), classes))
    for (i, j), m in zip(pairs, margins.T, strict=True):
        won[:, i] += m > 0
        won[:, j] += m <= 0
    return np.array([5, 3, 8, 1])[won.argmax(1)]


@pytest.mark.parametrize("kernel", BENDS)
@pytest.mark.parametrize("classes", [3, 4])
def test_most_pairs_win(kernel, classes):
    x, (attributes, margins, pairs) = draw(30, 3), machine(classes, kernel)
    y, z = run("SVMClassifier", 1, x, attributes)
    np.testing.assert_allclose(z, margins(x), 1e-4, 1e-4)
    assert y.tolist() == winners(margins(x), pairs, classes).tolist()


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_two_classes_have_one_margin(transform):
    x, (attributes, margins, pairs) = draw(30, 3), machine(2, "RBF")
    y, z = run("SVMClassifier", 1, x, attributes | {"post_transform": transform})
    np.testing.assert_allclose(z, TRANSFORMS[transform](margins(x) * [-1, 1]), 1e-4, 1e-5)
    assert y.tolist() == winners(margins(x), pairs, 2).tolist()


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_probabilities_of_classes_fit_those_of_pairs(classes):
    """They minimise the sum of (r_ji p_i - r_ij p_j)^2 (Wu, Lin and Weng 2004); LIBSVM stops near the minimum."""
    n = classes * (classes - 1) // 2
    attributes, margins, pairs = machine(classes, "RBF", prob_a=[-1.5] * n, prob_b=[0.125] * n)
    x = draw(30, 3)
    _, z = run("SVMClassifier", 1, x, attributes)
    np.testing.assert_allclose(z.sum(1), 1, 1e-5)
    for p, m in zip(z, 1 / (1 + np.exp(-1.5 * margins(x) + 0.125)), strict=True):
        q, r = np.zeros((classes, classes)), np.full((classes, classes), 0.5)
        for (i, j), probability in zip(pairs, m, strict=True):
            r[i, j], r[j, i] = probability, 1 - probability
        for i in range(classes):
            for j in range(classes):
                q[i, j] = sum(r[k, i] ** 2 for k in range(classes) if k != i) if i == j else -r[j, i] * r[i, j]
        best = np.linalg.solve(
            np.block([[q, np.ones((classes, 1))], [np.ones((1, classes)), np.zeros((1, 1))]]), np.append(np.zeros(classes), 1)
        )[:classes]
        np.testing.assert_allclose(p, best, atol=0.02)


def test_a_classifier_without_vectors_is_linear():
    x, weights = draw(9, 4), draw(3, 4)
    y, z = run("SVMClassifier", 1, x, dict(coefficients=weights.ravel().tolist(), rho=[0.5], classlabels_strings=["a", "b", "c"]))
    np.testing.assert_allclose(z, x @ weights.T + 0.5, 1e-4, 1e-5)
    assert y.tolist() == np.array(["a", "b", "c"])[(x @ weights.T).argmax(1)].tolist()


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("labels", [dict(classlabels_ints=[7, 9]), dict(classlabels_strings=["a", "b"])])
def test_one_linear_function_for_two_classes_is_the_second_ones(transform, labels):
    x, w = draw(40, 3) / 9, np.float32([0.5, 0.25, -0.5])
    s = (x.astype(float) @ w + 0.5).clip(0.01, 0.99)
    x = (s / 0.5)[:, None].astype(np.float32)
    y, z = run("LinearClassifier", 1, x, dict(coefficients=[0.5], intercepts=[0.0], post_transform=transform, **labels))
    assert y.tolist() == [next(iter(labels.values()))[1]] * 40
    due = {"LOGISTIC": TRANSFORMS["LOGISTIC"](np.stack([-s, s], 1)), "PROBIT": TRANSFORMS["PROBIT"](np.stack([1 - s, s], 1))}
    np.testing.assert_allclose(z, due.get(transform, np.stack([1 - s, s], 1)), 1e-3, 1e-5)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_targets_are_transformed(transform):
    x, w = np.abs(draw(7, 3)) / 9 + 0.05, np.float32([[0.5, 0.25, 0.5], [0.125, 0.5, 0.75]])
    y = run("LinearRegressor", 1, x, dict(coefficients=w.ravel().tolist(), targets=2, post_transform=transform))
    np.testing.assert_allclose(y, TRANSFORMS[transform](x.astype(float) @ w.T), 1e-3, 1e-5)


def test_a_row_alone():
    y, z = run("LinearClassifier", 1, draw(4), dict(coefficients=draw(3, 4).ravel().tolist(), classlabels_ints=[1, 2, 3]))
    assert y.shape == (1,) and z.shape == (1, 3)


def test_thousands_of_rows_by_any_number_of_threads():
    x, (attributes, _, _) = draw(5003, 3), machine(4, "RBF")
    one, four = (run("SVMClassifier", 1, x, attributes, threads=t) for t in (1, 4))
    np.testing.assert_array_equal(one[1], four[1])


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(coefficients=[1.0] * 5), "rows of 4"),
        (dict(coefficients=[1.0] * 8), "3 intercepts for 2 rows"),
        (dict(intercepts=[1.0]), "1 intercepts"),
        (dict(post_transform="SOFT"), "SOFT"),
        (dict(classlabels_strings=["a", "b", "c"]), "2 of the"),
        (dict(classlabels_ints=[1, 2]), "3 rows of coefficients for 2 classes"),
    ],
)
def test_linear_classifiers_that_lie_are_refused(changes, said):
    attributes = dict(coefficients=[1.0] * 12, intercepts=[0.0] * 3, classlabels_ints=[1, 2, 3]) | changes
    with pytest.raises(interp.InterpError, match=said):
        run("LinearClassifier", 1, draw(2, 4), attributes)


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(kernel_type="RFB"), "RFB"),
        (dict(kernel_params=[1.0]), "kernel_params"),
        (dict(rho=[1.0]), "rho"),
        (dict(vectors_per_class=[3, 2, 3]), "support vectors"),
        (dict(vectors_per_class=[3, 2]), "support vectors"),
        (dict(vectors_per_class=[12, 2, -5]), "support vectors"),
        (dict(coefficients=[1.0] * 17), "coefficients"),
        (dict(prob_a=[1.0] * 3), "come together"),
        (dict(prob_a=[1.0], prob_b=[1.0]), "prob_a"),
        (dict(support_vectors=[1.0] * 26), "rows of 3"),
        (dict(classlabels_ints=[5, 3]), "support vectors"),
    ],
)
def test_machines_that_lie_are_refused(changes, said):
    with pytest.raises(interp.InterpError, match=said):
        run("SVMClassifier", 1, draw(2, 3), machine(3, "RBF")[0] | changes)


def test_rows_of_another_length_are_refused():
    with pytest.raises(interp.InterpError, match="rows of 4"):
        run("SVMClassifier", 1, draw(2, 4), machine(3, "RBF")[0])
