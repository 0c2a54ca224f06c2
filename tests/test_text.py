"""Text operators: stopwords and case, n-grams with gaps, splits, and patterns in RE2's syntax."""

import re
import time

import numpy as np
import onnx
import pytest
from onnx import helper

import interp

from .every import one_node
from .toys import independent


def run(op, x, version, domain="", outputs=("Y",), **attributes):
    """One operator on strings; those that are None are left out."""
    node = helper.make_node(op, ["X"], list(outputs), domain=domain, **{k: v for k, v in attributes.items() if v is not None})
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info("X", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
    )
    opsets = [helper.make_opsetid(domain, version)] + ([helper.make_opsetid("", 20)] if domain else [])
    found = interp.load(helper.make_model(graph, opset_imports=opsets, ir_version=10)).run(None, {"X": x})
    return found if len(outputs) > 1 else found[0]


def strings(*given):
    return np.array(given, object)


# StringNormalizer


@pytest.mark.parametrize(
    "action, due", [("NONE", ["Mon", "TUE", "straße"]), ("LOWER", ["mon", "tue", "straße"]), ("UPPER", ["MON", "TUE", "STRASSE"])]
)
def test_case_changes_after_stopwords_have_gone(action, due):
    x = strings("Mon", "the", "TUE", "The", "straße")
    y = run("StringNormalizer", x, 10, case_change_action=action, is_case_sensitive=0, stopwords=["THE"])
    assert y.tolist() == due


def test_stopwords_may_be_sensitive_to_case():
    y = run("StringNormalizer", strings("the", "The"), 10, is_case_sensitive=1, stopwords=["The"], case_change_action="UPPER")
    assert y.tolist() == ["THE"]


@pytest.mark.parametrize("x", [strings("a", "a"), strings("a", "a")[None], strings(), strings()[None]])
def test_nothing_left_is_one_empty_string(x):
    y = run("StringNormalizer", x.reshape(x.shape), 10, stopwords=["a"])
    assert y.shape == (1,) * x.ndim and y.ravel().tolist() == [""]


def test_empty_strings_are_no_stopwords():
    assert run("StringNormalizer", strings("", "a", ""), 10).tolist() == ["", "a", ""]


def test_turkish_has_two_letters_i():
    assert run("StringNormalizer", strings("ıi"), 10, case_change_action="UPPER", locale="tr_TR").tolist() == ["Iİ"]
    assert run("StringNormalizer", strings("Iİ"), 10, case_change_action="LOWER", locale="tr_TR").tolist() == ["ıi"]
    assert run("StringNormalizer", strings("ıi"), 10, case_change_action="UPPER", locale="en_US").tolist() == ["II"]


@pytest.mark.parametrize(
    "x, attributes, said", [(strings("a", "b")[:, None], {}, "[C]"), (strings("a"), {"case_change_action": "TITLE"}, "TITLE")]
)
def test_what_is_not_normalized(x, attributes, said):
    with pytest.raises(interp.InterpError, match=re.escape(said)):
        run("StringNormalizer", x, 10, **attributes)


# TfIdfVectorizer


def grams(x, **changes):
    return run(
        "TfIdfVectorizer",
        x,
        9,
        **(
            dict(
                mode="TF",
                min_gram_length=1,
                max_gram_length=1,
                max_skip_count=0,
                ngram_counts=[0, 4],
                ngram_indexes=[0, 1, 2, 3, 4, 5, 6],
                pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
            )
            | changes
        ),
    )


X = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int32)


def test_no_more_items_are_skipped_than_a_row_has():
    due = grams(X, max_gram_length=2, max_skip_count=4)
    assert np.array_equal(grams(X, max_gram_length=2, max_skip_count=2**31 - 1), due)
    with pytest.raises(interp.InterpError, match="max_skip_count"):
        grams(X, max_skip_count=-1)


@pytest.mark.parametrize(
    "changes, due",
    [
        (dict(max_gram_length=1), [[0, 3, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0]]),
        (dict(min_gram_length=2, max_gram_length=2), [[0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 1]]),
        (dict(max_gram_length=2), [[0, 3, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 0, 1]]),
        (dict(max_gram_length=2, max_skip_count=5), [[0, 3, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 1, 1]]),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64, object])
def test_counts(changes, due, dtype):
    x, more = X.astype(dtype), {}
    if dtype is object:
        x, more = X.astype(str).astype(object), dict(pool_strings=list("2354567867"), pool_int64s=None)
    np.testing.assert_array_equal(grams(x, **changes, **more), np.float32(due))
    np.testing.assert_array_equal(grams(x[1], **changes, **more), np.float32(due[1]))


def test_weights_belong_to_n_grams_not_to_coordinates():
    changes = dict(ngram_counts=[0], pool_int64s=[3, 7], ngram_indexes=[2, 0], weights=[10.0, 0.5])
    x = np.array([3, 3, 7])
    assert grams(x, **changes, mode="TF").tolist() == [1, 0, 2]
    assert grams(x, **changes, mode="IDF").tolist() == [0.5, 0, 10]
    assert grams(x, **changes, mode="TFIDF").tolist() == [0.5, 0, 20]


def test_weights_are_one_where_they_are_not_given():
    assert grams(np.array([3, 3]), mode="IDF").tolist() == [0, 1, 0, 0, 0, 0, 0]


def test_n_grams_with_one_coordinate_add_up():
    assert grams(np.array([3, 7]), ngram_counts=[0], pool_int64s=[3, 7], ngram_indexes=[1, 1]).tolist() == [0, 2]


def test_rows_shorter_than_an_n_gram_and_empty_ones():
    assert grams(np.empty((2, 0), np.int64), max_gram_length=2).tolist() == [[0] * 7] * 2
    assert grams(np.array([5]), min_gram_length=2, max_gram_length=2).tolist() == [0] * 7
    assert grams(np.empty((0, 3), np.int64)).shape == (0, 7)


@pytest.mark.parametrize(
    "changes, said",
    [
        (dict(ngram_counts=[0, 3]), "no 2-grams"),
        (dict(ngram_counts=[4, 0]), "begin at"),
        (dict(ngram_counts=[0, 14]), "begin at"),
        (dict(ngram_indexes=[0, 1]), "2 indexes"),
        (dict(ngram_indexes=[0, 1, 2, 3, 4, 5, -1]), "indexes from 0"),
        (dict(weights=[1.0]), "1 weights"),
        (dict(mode="BM25"), "BM25"),
        (dict(pool_strings=["a"]), "one of pool"),
        (dict(min_gram_length=0), "0 to 1"),
        (dict(min_gram_length=2), "2 to 1"),
    ],
)
def test_pools_that_lie_are_refused(changes, said):
    with pytest.raises(interp.InterpError, match=said):
        grams(X, **changes)


# StringSplit, StringConcat


@pytest.mark.parametrize(
    "attributes, due, counts",
    [
        ({}, [["a", "b", "c"], ["x", "", ""], ["", "", ""]], [3, 1, 0]),
        ({"delimiter": ""}, [["a", "b", "c"], ["x", "", ""], ["", "", ""]], [3, 1, 0]),
        ({"maxsplit": 1}, [["a", "b  c"], ["x", ""], ["", ""]], [2, 1, 0]),
        ({"maxsplit": 0}, [["a b  c"], ["x"], [""]], [1, 1, 0]),
        ({"delimiter": " "}, [["a", "b", "", "c"], ["", "x", "", ""], ["", "", "", ""]], [4, 3, 1]),
        ({"delimiter": "  ", "maxsplit": 5}, [["a b", "c"], [" x ", ""], ["", ""]], [2, 1, 1]),
    ],
)
def test_splits(attributes, due, counts):
    y, z = run("StringSplit", strings("a b  c", " x ", ""), 20, outputs=("Y", "Z"), **attributes)
    assert y.tolist() == due and z.tolist() == counts


def test_splits_of_nothing_and_of_one():
    assert [a.shape for a in run("StringSplit", np.empty((2, 0), object), 20, outputs=("Y", "Z"))] == [(2, 0, 0), (2, 0)]
    y, z = run("StringSplit", np.array("a b", object), 20, outputs=("Y", "Z"))
    assert y.tolist() == ["a", "b"] and z.shape == () and z == 2


def test_strings_alone_are_joined():
    graph = helper.make_graph(
        [helper.make_node("StringConcat", ["a", "b"], ["c"])],
        "g",
        [helper.make_tensor_value_info(n, onnx.TensorProto.STRING, ()) for n in "ab"],
        [helper.make_tensor_value_info("c", onnx.TensorProto.STRING, ())],
    )
    session = interp.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
    [c] = session.run(None, {"a": np.array("x", object), "b": np.array("y", object)})
    assert c.shape == () and c.item() == "xy"


# RegexFullMatch: what RE2 answers, found with onnxruntime

MATCHES = [
    ("a.c", "abc", True),
    ("a.c", "a\nc", False),
    ("(?s)a.c", "a\nc", True),
    (r"\d+", "12", True),
    (r"\d+", "١٢", False),
    (r"\pL+", "abcé", True),
    (r"\p{Lu}\P{Lu}", "Aé", True),
    (r"\p{^Lu}", "a", True),
    (r"[\pN-]+", "1-2", True),
    ("[[:alpha:]]+", "ab", True),
    ("[[:alpha:]]+", "1", False),
    ("[[:^alpha:]x]+", "1x", True),
    ("(?P<n>a)b", "ab", True),
    ("(?<n>a)b", "ab", True),
    (r"\w+", "é", False),
    (r"\W", "é", True),
    (r"\Qa.b\E+", "a.bb", True),
    ("a|ab", "ab", True),
    ("(?i)AB[c-d]", "abD", True),
    ("(?i:a)B", "AB", True),
    ("(?i:a)B", "Ab", False),
    ("a{2,3}", "aa", True),
    ("a{2,3}", "aaaa", False),
    ("a{2}", "aa", True),
    ("a{2,}", "aaaaa", True),
    ("a{,2}", "a{,2}", True),
    ("a{", "a{", True),
    ("x{2}{3}?", "x", None),
    ("^a$", "a", True),
    ("^a$", "a\n", False),
    ("(?m)^a$\n^b$", "a\nb", True),
    (r"a\z", "a", True),
    (r"\Aa", "a", True),
    (r"\x41\x{e9}", "Aé", True),
    (r"\101", "A", True),
    ("(?U)a+", "aa", True),
    (r"\bab\b", "ab", True),
    (r"a\Bb", "ab", True),
    (r"a\bb", "ab", False),
    (r"\s", "\v", False),
    (r"[[:space:]]", "\v", True),
    ("[^a]", "\n", True),
    ("[]a]+", "]a", True),
    ("[^]a]", "b", True),
    (r"[\]\-a]+", "]-a", True),
    ("[a-]+", "a-", True),
    ("[+--]+", "+,-", True),
    ("", "", True),
    ("", "a", False),
    ("a*?b", "aab", True),
    ("(a+)+$", "a" * 60 + "b", False),
    ("(a|b)*c|(a|ab)*c", "abac", True),
    ("()", "", True),
    ("(|a)+", "aaa", True),
    ("a||b", "", True),
    ("(?i)ſ", "S", True),
    (".", "\U0001f600", True),
    (r"\.\*", ".*", True),
    ("]", "]", True),
    ("}", "}", True),
    ("a++", "a", None),
    ("(?=a)a", "a", None),
    (r"(a)\1", "aa", None),
    ("(a", "a", None),
    ("a)", "a", None),
    ("[a", "a", None),
    ("[b-a]", "a", None),
    ("*a", "a", None),
    ("a**", "a", None),
    (r"\8", "8", None),
    ("a\\", "a", None),
    ("(?P<n", "a", None),
    ("a{1001}", "a", None),
    ("a{3,2}", "a", None),
    ("[[:word:]]+", "a_1", True),
    ("[[:foo:]]", "a", None),
    (r"\x{110000}", "a", None),
    ("(?z)a", "a", None),
    (r"\y", "y", None),
    ("(?i)k", "\u212a", True),
]


@pytest.mark.parametrize("pattern, text, due", MATCHES)
def test_patterns_mean_what_re2_says(pattern, text, due):
    if due is None:
        with pytest.raises(interp.InterpError):
            run("RegexFullMatch", strings(text), 20, pattern=pattern)
    else:
        assert run("RegexFullMatch", strings(text), 20, pattern=pattern).tolist() == [due]


PIECES = ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\D", r"\W", "[[:alpha:]]", "[[:^digit:]]", r"\b", r"\B", "^", "$",
          r"\.", r"\x61", r"[\d_]", "(?i)a", "(?i:b)", r"\Aa", r"b\z", r"\pL", r"\p{Greek}", r"\P{Lu}", "é", r"[^\n]", r"\Q.a\E",
          "(?s).", "(?:)", r"\n", r"[a\-b]", "[]a]", "[^]a]", r"\x{e9}", "(?P<n>a)", "(?U)a+", "(?m)^a$"]
TEXTS = ["", "a", "b", "ab", "aa", "abc", "aab", " ", "1", "a1", "é", "A", "aB", "\n", "a\n", "a\nb", ".a", "_", "α", "Λ", "aba",
         "a b", "-", "]", "ab1_"]


def pattern_of(rng, depth):
    def part():
        return pattern_of(rng, depth - 1)
    kind = 0 if depth == 0 else rng.integers(6)
    if kind == 0:
        return str(rng.choice(PIECES))
    if kind < 3:
        return part() + part()
    if kind < 5:
        return f"({part()}|{part()})" if kind == 3 else f"{part()}|{part()}"
    return f"(?:{part()})" + str(rng.choice(["*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "+?", "??", "{2,}?"]))


@pytest.mark.parametrize("seed", range(10))
def test_onnxruntime_whose_engine_is_re2_matches_the_same(seed):
    rng, x = np.random.default_rng(seed), strings(*TEXTS)
    for _ in range(30):
        given = {"pattern": pattern_of(rng, 3)}
        model = one_node("RegexFullMatch", 20, {"X": x}, given)
        assert run("RegexFullMatch", x, 20, **given).tolist() == independent(model, {"X": x})[0].tolist(), given


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("skips", range(4))
def test_onnxruntime_counts_the_same_n_grams(mode, skips):
    rng = np.random.default_rng(skips)
    for _ in range(15):
        ones, twos, threes = ([list(g) for g in {tuple(map(int, r)) for r in rng.integers(0, 5, (3, n))}] for n in (1, 2, 3))
        count = len(ones + twos + threes)
        least = int(rng.integers(1, 4))
        given = dict(
            mode=mode, min_gram_length=least, max_gram_length=int(rng.integers(least, 4)), max_skip_count=skips,
            ngram_counts=[0, len(ones), len(ones) + 2 * len(twos)], ngram_indexes=rng.permutation(count).tolist(),
            pool_int64s=sum(ones + twos + threes, []), weights=rng.integers(1, 9, count).astype(float).tolist())
        for x in (rng.integers(0, 5, (2, 7)), rng.integers(0, 5, 7)):
            due = independent(one_node("TfIdfVectorizer", 9, {"X": x}, given), {"X": x})
            np.testing.assert_array_equal(run("TfIdfVectorizer", x, 9, **given), due[0])


def test_time_is_linear_where_others_never_end():
    begun = time.perf_counter()
    assert not run("RegexFullMatch", strings("a" * 20_000), 20, pattern="(a*)*(a|aa)+(a+)+b").any()
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize("pattern", ["((a{500}){500}){500}", "(" * 5000])
def test_patterns_of_hostile_size_are_refused(pattern):
    with pytest.raises(interp.InterpError, match="no pattern of RE2"):
        run("RegexFullMatch", strings("a"), 20, pattern=pattern)


def test_bytes_that_are_no_text_are_matched_as_they_are():
    """A lone byte is no character, which "." would match."""
    assert run("RegexFullMatch", strings("a\udcff", "aé"), 20, pattern="a.").tolist() == [False, True]


def test_an_absent_pattern_is_refused():
    with pytest.raises(interp.InterpError, match="pattern"):
        run("RegexFullMatch", strings("a"), 20)
