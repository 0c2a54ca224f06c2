"""Strings, by Python's own."""
import numpy as np

from .case import Case, case


@case("RegexFullMatch")
def regex_full_match(spec):
    x = np.array([["ab12", "ab"], ["12", "éb12"]], object)
    return Case([x], [np.array([[True, False], [False, False]])], pattern=r"[a-z]+\d{2}")


@case("StringConcat")
def string_concat(spec):
    x, y = np.array([["a"], [""]], object), np.array(["x", "é", ""], object)
    return Case([x, y], [np.array([["ax", "aé", "a"], ["x", "é", ""]], object)])


@case("StringNormalizer")
def string_normalizer(spec):
    x = np.array([["Monday", "THE", "étude", "end"]], object)
    return Case([x], [np.array([["MONDAY", "ÉTUDE"]], object)], case_change_action="UPPER", is_case_sensitive=0,
                stopwords=["the", "End"], locale="en_US")


@case("StringSplit")
def string_split(spec):
    x = np.array([["a,b,,c", "d"], ["", ","]], object)
    due = np.array([[["a", "b", ",c"], ["d", "", ""]], [["", "", ""], ["", "", ""]]], object)
    return Case([x], [due, np.array([[3, 1], [1, 2]])], delimiter=",", maxsplit=2)


@case("TfIdfVectorizer")
def tfidf_vectorizer(spec):
    """The pool: 3, 5, (3, 4), (5, 3), of which 3 is found twice, (3, 4) apart, (5, 3) both ways."""
    x = np.array([[3, 5, 4, 5, 3], [0, 0, 0, 0, 0]], "i8")
    pool, weights, at = [3, 5, 3, 4, 5, 3], [0.5, 2.0, 3.0, 0.25], [3, 0, 4, 1]
    due = np.zeros((2, 5))
    due[0, at] = np.array([2, 2, 1, 1]) * weights
    given = {"pool_int64s": pool}
    if spec.types["T"] == "tensor(string)":
        x, given = x.astype(str).astype(object), {"pool_strings": [str(n) for n in pool]}
    else:
        x = x.astype(spec.dtype("T"))
    return Case([x], [due], mode="TFIDF", ngram_counts=[0, 2], ngram_indexes=at, weights=weights, min_gram_length=1,
                max_gram_length=2, max_skip_count=1, **given)
