"""Classical machine learning, by formulas from the text."""

import numpy as np

from ..forests import folded, forest, votes
from ..scores import TRANSFORMS, logistic, softmax
from .case import Case, case, dtype_of

ML = "ai.onnx.ml"
WORDS, CODES = ["bee", "ant", "cow"], [4, -2, 7]


def real(x):
    return x.astype(np.float64)


def labelled(spec, best, words=WORDS, codes=CODES, ints="classlabels_ints", strings="classlabels_strings"):
    """The labels of the winners and the attribute that names them, of the type that the output has."""
    named = spec.types["T2"] == "tensor(string)"
    return np.array(words if named else codes, object if named else None)[best], {
        strings if named else ints: words if named else codes
    }


# Numbers


@case("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(spec):
    x = spec.data((2, 3, 5), "T")
    return Case([x, np.array([[4, 0, 0]])], [x[..., [4, 0, 0]]], exact=True)


@case("Binarizer", domain=ML)
def binarizer(spec):
    x = spec.data((3, 5), "T")
    return Case([x], [np.where(real(x) > 0.5, 1, 0)], threshold=0.5)


@case("FeatureVectorizer", domain=ML)
def feature_vectorizer(spec):
    a, b = spec.data((3, 2), "T1"), spec.data((3, 4), "T1")
    return Case([a, b], [np.concatenate([a, b], 1)], inputdimensions=[2, 4])


@case("Imputer", domain=ML)
def imputer(spec):
    x = spec.data((3, 4), "T")
    if x.dtype.kind == "f":
        x[1, 2] = x[2, 0] = np.nan
        due = np.where(np.isnan(x), [1.5, 2.5, -3.5, 4], x)
        return Case([x], [due], exact=True, imputed_value_floats=[1.5, 2.5, -3.5, 4.0], replaced_value_float=float("nan"))
    return Case([x], [np.where(x == x[0, 0], 9, x)], imputed_value_int64s=[9], replaced_value_int64=int(x[0, 0]))


@case("Normalizer", domain=ML)
def normalizer(spec):
    x = spec.data((3, 4), "T", 1, 5)
    x[1] = 0
    total = np.sqrt((real(x) ** 2).sum(1, keepdims=True))
    return Case([x], [real(x) / np.where(total, total, 1)], norm="L2")


@case("Scaler", domain=ML)
def scaler(spec):
    x = spec.data((3, 4), "T")
    offset, scale = [0.5, -1.0, 2.0, 0.25], [2.0, 0.5, -1.5, 3.0]
    return Case([x], [(real(x) - offset) * scale], offset=offset, scale=scale)


# Look-ups


@case("CategoryMapper", domain=ML, prefer=lambda spec: other(spec))
def category_mapper(spec):
    if spec.types["T1"] == "tensor(string)":
        return Case(
            [np.array(["ant", "?", "bee"], object)],
            [np.array([-2, 5, 4])],
            cats_strings=WORDS,
            cats_int64s=CODES,
            default_int64=5,
        )
    return Case(
        [np.array([7, 4, 0])],
        [np.array(["cow", "bee", "none"], object)],
        cats_strings=WORDS,
        cats_int64s=CODES,
        default_string="none",
    )


def other(spec):
    """Strings become integers, integers strings."""
    pair = {"tensor(string)": "tensor(int64)", "tensor(int64)": "tensor(string)"}
    untried = {"T1": "T2", "T2": "T1"}[spec.tried]
    return {untried: pair[spec.types[spec.tried]]}


def label_types(spec):
    """Version 1 has pairs; later ones any combination."""
    return other(spec) if spec.version == 1 else {}


@case("LabelEncoder", domain=ML, prefer=label_types)
def label_encoder(spec):
    k, v = spec.dtype("T1"), spec.dtype("T2")
    if spec.version == 1:
        found = [2, 0, -5] if k.kind == "O" else ["ant", "none", "bee"]
        x = np.array(["cow", "bee", "emu"] if k.kind == "O" else [1, 5, 0], k)
        return Case([x], [np.array(found, v)], classes_strings=WORDS, default_int64=-5, default_string="none")
    keys = {"O": WORDS, "i": CODES, "f": [0.5, float("nan"), -1.5]}[k.kind]
    values, rest = {"O": (["x", "y", "z"], "none"), "i": ([30, 10, 20], -5), "f": ([0.5, -2.25, 8.0], 0.75)}[v.kind]
    x = np.array([keys[1], keys[2], {"O": "emu", "i": 5, "f": 9}[k.kind], keys[0]], k)
    names = {"O": "strings", "i": "int64s", "f": "floats"}
    rests = {"O": "default_string", "i": "default_int64", "f": "default_float"}
    attributes = {f"keys_{names[k.kind]}": keys, f"values_{names[v.kind]}": values, rests[v.kind]: rest}
    if k not in (object, np.int64, np.float32):
        attributes["keys_tensor"] = np.array(attributes.pop(f"keys_{names[k.kind]}"), k)
    if v not in (object, np.int64, np.float32):
        attributes |= {
            "values_tensor": np.array(attributes.pop(f"values_{names[v.kind]}"), v),
            "default_tensor": np.array([rest], v),
        }
        del attributes[rests[v.kind]]
    return Case([x], [np.array([values[1], values[2], rest, values[0]], v)], exact=True, **attributes)


@case("OneHotEncoder", domain=ML)
def one_hot_encoder(spec):
    named = spec.types["T"] == "tensor(string)"
    x = np.array([["ant", "emu"], ["cow", "bee"]] if named else [[-2, 5], [7, 4]], spec.dtype("T"))
    due = np.array([[[0, 1, 0], [0, 0, 0]], [[0, 0, 1], [1, 0, 0]]])
    return Case([x], [due], **({"cats_strings": WORDS} if named else {"cats_int64s": CODES}), zeros=1)


# Maps


def map_types(kind):
    """The types of a map's keys and values."""
    key, value = (t.strip() for t in kind[kind.index("map(") + 4 :].rstrip(")").split(","))
    return key, f"tensor({value})"


@case("ZipMap", domain=ML)
def zip_map(spec):
    key, _ = map_types(spec.types["T"])
    x = spec.array((2, 3), "tensor(float)")
    keys = WORDS if key == "string" else CODES
    labels = {"classlabels_strings" if key == "string" else "classlabels_int64s": keys}
    return Case([x], [[dict(zip(keys, map(float, row), strict=True)) for row in x]], **labels)


def vector_types(spec):
    if spec.tried == "T1":
        return {"T2": map_types(spec.types["T1"])[1]}
    return {"T1": f"map({'int64' if 'string' in spec.types['T2'] else 'string'}, {spec.types['T2'][7:-1]})"}


@case("DictVectorizer", domain=ML, prefer=vector_types)
def dict_vectorizer(spec):
    key, value = map_types(spec.types["T1"])
    keys, values = WORDS if key == "string" else CODES, spec.array((2,), value)
    rest = "" if value == "tensor(string)" else 0
    due = np.array([[values[1], rest, values[0]]], dtype_of(value))
    return Case(
        [{keys[2]: values[0], keys[0]: values[1]}],
        [due],
        exact=True,
        **{"string_vocabulary" if key == "string" else "int64_vocabulary": keys},
    )


@case("CastMap", domain=ML)
def cast_map(spec):
    numbers, to = spec.types["T1"] == "map(int64, float)", spec.types["T2"]
    x = {5: 2.0, 1: -1.0, 3: 0.0} if numbers else {5: "2", 1: "-1", 3: "0"}
    zero = "" if to == "tensor(string)" else 0
    written = ["-1.000000", "0.000000", "2.000000"] if numbers else ["-1", "0", "2"]
    a, b, c = written if to == "tensor(string)" else [-1, 0, 2]
    cast = {"tensor(string)": "TO_STRING", "tensor(float)": "TO_FLOAT", "tensor(int64)": "TO_INT64"}[to]
    return Case([x], [np.array([zero, a, zero, b, zero, c, zero], spec.dtype("T2"))], cast_to=cast, map_form="SPARSE", max_map=7)


# Linear models


@case("LinearRegressor", domain=ML)
def linear_regressor(spec):
    x, w, b = spec.data((3, 4), "T"), spec.array((2, 4), "tensor(float)"), spec.array((2,), "tensor(float)")
    return Case(
        [x],
        [softmax(real(x) @ real(w).T + real(b))],
        terms=30,
        targets=2,
        coefficients=w.ravel(),
        intercepts=b,
        post_transform="SOFTMAX",
    )


@case("LinearClassifier", domain=ML)
def linear_classifier(spec):
    x, w, b = spec.data((5, 4), "T1"), spec.array((3, 4), "tensor(float)"), spec.array((3,), "tensor(float)")
    scores = real(x) @ real(w).T + real(b)
    y, labels = labelled(spec, scores.argmax(1))
    return Case(
        [x],
        [y, logistic(scores)],
        terms=30,
        coefficients=w.ravel(),
        intercepts=b,
        post_transform="LOGISTIC",
        multi_class=1,
        **labels,
    )


def rbf(x, vectors, gamma):
    return np.exp(-gamma * ((real(x)[:, None] - real(vectors)) ** 2).sum(2))


@case("SVMRegressor", domain=ML)
def svm_regressor(spec):
    x, vectors, weights = spec.data((3, 4), "T"), spec.array((5, 4), "tensor(float)"), spec.array((5,), "tensor(float)")
    due = rbf(x, vectors, 0.125) @ real(weights) + 0.25
    return Case(
        [x],
        [due[:, None]],
        terms=15,
        coefficients=weights,
        support_vectors=vectors.ravel(),
        n_supports=5,
        rho=[0.25],
        kernel_type="RBF",
        kernel_params=[0.125, 0.0, 0.0],
    )


@case("SVMClassifier", domain=ML)
def svm_classifier(spec):
    """As LIBSVM has it: between two classes, the vectors of each count with the coefficients that they have for the other."""
    x, vectors, weights = spec.data((4, 3), "T1"), spec.array((7, 3), "tensor(float)"), spec.array((2, 7), "tensor(float)")
    rho, ends = [0.25, -0.5, 0.125], [0, 2, 5, 7]
    k = rbf(x, vectors, 0.25)
    margins, won = [], np.zeros((4, 3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        of_i, of_j = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        margins.append(k[:, of_i] @ real(weights[j - 1, of_i]) + k[:, of_j] @ real(weights[i, of_j]) + rho[len(margins)])
        won[:, i] += margins[-1] > 0
        won[:, j] += margins[-1] <= 0
    y, labels = labelled(spec, won.argmax(1))
    return Case(
        [x],
        [y, np.stack(margins, 1)],
        terms=20,
        vectors_per_class=[2, 3, 2],
        support_vectors=vectors.ravel(),
        coefficients=weights.ravel(),
        rho=rho,
        kernel_type="RBF",
        kernel_params=[0.25, 0.0, 0.0],
        **labels,
    )


# Trees


def with_missing(x):
    if x.dtype.kind == "f":
        x[::3, 1] = np.nan
    return x


def as_doubles(spec, attributes, *names):
    """Attributes as tensors of doubles, where the version and the input let them come so."""
    if spec.has("nodes_values_as_tensor") and "double" in str(spec.types):
        for name in names:
            attributes[f"{name}_as_tensor"] = np.array(attributes.pop(name), np.float64) + 1e-9
    return attributes


@case("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(spec):
    x = with_missing(spec.data((9, 4), "T"))
    a = as_doubles(spec, forest(spec.rng, 10, 4, 4, 3), "nodes_values", "target_weights")
    a = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in a.items()}
    due = folded(votes(a, real(x)), 3, "AVERAGE", [0.5, -1.0, 2.0])
    a = {k: np.array(v) if k.endswith("as_tensor") else v for k, v in a.items()}
    return Case([x], [due], terms=5, n_targets=3, aggregate_function="AVERAGE", base_values=[0.5, -1.0, 2.0], **a)


@case("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(spec):
    x = with_missing(spec.data((9, 4), "T1"))
    a = forest(spec.rng, 10, 4, 4, 3, kind="class", votes=2)
    scores = folded(votes(a, real(x), "class"), 3)
    y, labels = labelled(spec, scores.argmax(1), ints="classlabels_int64s")
    return Case([x], [y, TRANSFORMS["SOFTMAX"](scores)], terms=20, post_transform="SOFTMAX", **a, **labels)


@case("TreeEnsemble", domain=ML)
def tree_ensemble(spec):
    """Two trees: one by membership and comparison, one that is a leaf."""
    x, t = spec.data((6, 2), "T", -2, 3), spec.dtype("T")
    x[:3, 0] = [1, 2, -1]
    x[4, 1] = np.nan
    member = np.isin(x[:, 0], [1, 2, 5])
    small = np.where(np.isnan(x[:, 1]), True, real(x[:, 1]) <= 0.5)
    due = np.zeros((6, 2))
    due[:, 1] = np.where(member, 0.5, 0)
    due[:, 0] = np.where(~member & small, -1.5, np.where(~member, 2.0, 0)) + 4
    return Case(
        [x],
        [due],
        n_targets=2,
        tree_roots=[0, 2],
        nodes_featureids=[0, 1, 0],
        nodes_modes=np.array([6, 0, 0], np.uint8),
        nodes_splits=np.array([0, 0.5, 0], t),
        nodes_truenodeids=[0, 1, 3],
        nodes_trueleafs=[1, 1, 1],
        nodes_falsenodeids=[1, 2, 3],
        nodes_falseleafs=[0, 1, 1],
        nodes_missing_value_tracks_true=[0, 1, 0],
        leaf_targetids=[1, 0, 0, 0],
        leaf_weights=np.array([0.5, -1.5, 2.0, 4.0], t),
        membership_values=np.array([1, 2, 5], t),
        aggregate_function=1,
        post_transform=0,
    )
