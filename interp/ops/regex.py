"""Regular expressions in RE2's syntax, matched in time linear in the text: an automaton whose states are found as they are met.

Groups capture nothing and lazy repetition is as good as any, because only whole matches and longest ones are asked for.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from unicodedata import category

Test = Callable[[str], bool]
MOST_STATES = 20_000
MOST_KNOWN = 50_000  # steps that are remembered
MOST_TIMES = 1000  # what RE2 repeats at most
DEEPEST = 200  # groups within groups
END = ""  # stands for the character behind the last one

WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
DIGITS = frozenset("0123456789")
UPPER, LOWER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), frozenset("abcdefghijklmnopqrstuvwxyz")
PRINT = frozenset(map(chr, range(32, 127)))
PERL = {"d": DIGITS, "s": frozenset("\t\n\f\r "), "w": WORD}
POSIX = {"alnum": UPPER | LOWER | DIGITS, "alpha": UPPER | LOWER, "ascii": frozenset(map(chr, range(128))),
         "blank": frozenset("\t "), "cntrl": frozenset(map(chr, [*range(32), 127])), "digit": DIGITS, "graph": PRINT - {" "},
         "lower": LOWER, "print": PRINT, "punct": PRINT - WORD - {" "} | {"_"}, "space": frozenset("\t\n\v\f\r "),
         "upper": UPPER, "word": WORD, "xdigit": DIGITS | frozenset("abcdefABCDEF")}
ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}


@dataclass
class State:
    """A place in the automaton: on from it if a character passes the test, or at once where an assertion holds."""

    test: Test | None = None
    holds: str = ""  # an assertion: ^ $ A z b B
    to: list[int] = field(default_factory=list)


def kind(c: str) -> str:
    """All that assertions ask of a character: whether it is there, ends a line, or is part of a word."""
    return END if c == END else "\n" if c == "\n" else "w" if c in WORD else "."


def asserted(what: str, before: str, after: str) -> bool:
    """Whether an assertion holds between two characters."""
    if what in "bB":
        return ((before == "w") != (after == "w")) == (what == "b")
    side = before if what in "^A" else after
    return side == END or what in "^$" and side == "\n"


class Pattern:
    """A pattern; ValueError where it is none of RE2's, or asks for scripts or bytes."""

    def __init__(self, pattern: str):
        self.states: list[State] = [State()]  # the first is the goal
        tree = Parser(pattern).parsed()
        self.start = frozenset((self._built(tree, 0),))
        self._steps: dict[tuple[frozenset[int], str, str], frozenset[int]] = {}
        self._ends: dict[tuple[frozenset[int], str, str], bool] = {}

    def _add(self, state: State) -> int:
        if len(self.states) >= MOST_STATES:
            raise ValueError(f"the pattern needs more than {MOST_STATES} states")
        self.states.append(state)
        return len(self.states) - 1

    def _built(self, tree: tuple, goal: int) -> int:
        """Where a part of the pattern begins, if it ends at the goal."""
        what, *of = tree
        if what == "test":
            return self._add(State(test=of[0], to=[goal]))
        if what == "assert":
            return self._add(State(holds=of[0], to=[goal]))
        if what == "all":
            for part in reversed(of[0]):
                goal = self._built(part, goal)
            return goal
        if what == "any":
            return self._add(State(to=[self._built(part, goal) for part in of[0]]))
        part, least, most = of
        if most is None:
            loop = self._add(State(to=[goal]))
            self.states[loop].to.append(self._built(part, loop))
            goal = loop
        else:
            last = goal
            for _ in range(most - least):
                goal = self._add(State(to=[self._built(part, goal), last]))
        for _ in range(least):
            goal = self._built(part, goal)
        return goal

    def _reached(self, states: Iterable[int], before: str, after: str) -> set[int]:
        """States that are reached without a character, between two of these kinds."""
        found, todo = set(states), list(states)
        while todo:
            s = self.states[todo.pop()]
            if s.test is None and (not s.holds or asserted(s.holds, before, after)):
                new = [t for t in s.to if t not in found]
                found.update(new)
                todo += new
        return found

    def _step(self, states: frozenset[int], before: str, c: str) -> frozenset[int]:
        """The states behind a character."""
        key = states, before, c
        known = self._steps.get(key)
        if known is None:
            if len(self._steps) >= MOST_KNOWN:
                self._steps.clear()
            here = [self.states[i] for i in self._reached(states, before, kind(c))]
            known = self._steps[key] = frozenset(s.to[0] for s in here if s.test is not None and s.test(c))
        return known

    def _ends_here(self, states: frozenset[int], before: str, after: str) -> bool:
        key = states, before, after
        known = self._ends.get(key)
        if known is None:
            if len(self._ends) >= MOST_KNOWN:
                self._ends.clear()
            known = self._ends[key] = 0 in self._reached(states, before, after)
        return known

    def matches(self, text: str) -> bool:
        """Whether the pattern matches all of the text."""
        states, before = self.start, END
        for c in text:
            states = self._step(states, before, c)
            if not states:
                return False
            before = kind(c)
        return self._ends_here(states, before, END)

    def longest(self, text: str, at: int) -> int:
        """Where the longest match that begins at a position ends; -1 where none begins there."""
        states, before, found = self.start, kind(text[at - 1]) if at else END, -1
        for i in range(at, len(text) + 1):
            c = text[i] if i < len(text) else END
            if self._ends_here(states, before, kind(c)):
                found = i
            if c == END:
                break
            states, before = self._step(states, before, c), kind(c)
            if not states:
                break
        return found

    def found(self, text: str) -> list[tuple[int, int]]:
        """The matches that are not empty, from left to right, each the longest at the leftmost place."""
        at, matches = 0, []
        while at < len(text):
            end = self.longest(text, at)
            if end > at:
                matches.append((at, end))
            at = max(end, at + 1)
        return matches


# Tests of characters


def one_of(chars: frozenset[str]) -> Test:
    return chars.__contains__


def between(low: str, high: str) -> Test:
    return lambda c: low <= c <= high


def either(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda c: any(t(c) for t in tests)


def negated(test: Test) -> Test:
    return lambda c: not test(c)


def folded(test: Test) -> Test:
    """In any case."""
    others = {"s": "ſ", "S": "ſ", "k": "\u212a", "K": "\u212a"}  # whose cases do not lead back
    return lambda c: any(test(v) for v in {c, c.lower(), c.upper(), others.get(c, c)})


@cache
def property_named(name: str) -> Test:
    """A class of Unicode: general categories."""
    if name == "Any":
        return lambda c: True
    if name[:1] not in tuple("CLMNPSZ") or len(name) > 2 or name[1:] not in ("", *"acdefiklmnopstu"):
        raise ValueError(f"\\p{{{name}}}: only general categories of Unicode are supported, such as L, Lu, Nd")
    return lambda c: category(c).startswith(name)


class Parser:
    """A pattern read from left to right into nested tuples: test, assert, all, any, repeat."""

    def __init__(self, pattern: str):
        self.text, self.at, self.flags, self.depth = pattern, 0, frozenset[str](), 0

    def parsed(self) -> tuple:
        tree = self._choice()
        if self.at < len(self.text):
            self._refuse("unmatched )")
        return tree

    def _refuse(self, why: str) -> None:
        raise ValueError(f"{self.text!r} is no pattern of RE2's: {why} at {self.at}")

    def _next(self) -> str:
        if self.at >= len(self.text):
            self._refuse("it ends early")
        self.at += 1
        return self.text[self.at - 1]

    def _take(self, what: str) -> bool:
        """Whether the text goes on so; if it does, past it."""
        if not self.text.startswith(what, self.at):
            return False
        self.at += len(what)
        return True

    def _choice(self) -> tuple:
        parts: list[list[tuple]] = [[]]
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self._take("|"):
                parts.append([])
            elif self._take("\\Q"):
                end = self.text.find("\\E", self.at)
                quoted = self.text[self.at:end if end >= 0 else None]
                self.at += len(quoted) + 2 * (end >= 0)
                parts[-1] += [self._literal(c) for c in quoted]
                if quoted:
                    parts[-1].append(self._repeated(parts[-1].pop()))
            elif (atom := self._atom()) is not None:
                parts[-1].append(self._repeated(atom))
        return ("any", [("all", p) for p in parts]) if len(parts) > 1 else ("all", parts[0])

    def _repeated(self, atom: tuple) -> tuple:
        bounds = self._bounds()
        if bounds is None:
            return atom
        self._take("?")
        if self._bounds() is not None:
            self._refuse("a repetition is repeated")
        return ("repeat", atom, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        """How often the last part comes: what * + ? {n} {n,} {n,m} say; None where nothing is said."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1:end].partition(",")
        if not self.text.startswith("{", self.at) or end < 0 or not all(
                n.isascii() and n.isdigit() for n in (low, *((high,) if high else ()))):
            return None
        least, most = int(low[:9]), int(high[:9]) if high else None if comma else int(low[:9])
        if least > MOST_TIMES or most is not None and not least <= most <= MOST_TIMES:
            self._refuse("a bad number of repetitions")
        self.at = end + 1
        return least, most

    def _atom(self) -> tuple | None:
        c = self._next()
        if c == "(":
            return self._group()
        if c == "[":
            return "test", self._folded(self._set())
        if c == ".":
            return "test", (lambda c: True) if "s" in self.flags else "\n".__ne__
        if c in "^$":
            return "assert", c if "m" in self.flags else {"^": "A", "$": "z"}[c]
        if c in "*+?":
            self._refuse("a repetition of nothing")
        if c != "\\":
            return self._literal(c)
        if self.text[self.at:self.at + 1] in tuple("AbBz"):
            return "assert", self._next()
        return "test", self._folded(self._escape())

    def _literal(self, c: str) -> tuple:
        return "test", self._folded(c.__eq__)

    def _folded(self, test: Test) -> Test:
        return folded(test) if "i" in self.flags else test

    def _group(self) -> tuple | None:
        """What stands in parentheses; None where it only sets flags."""
        outer = self.flags
        if self._take("?P<") or self._take("?<"):
            name = self.text[self.at:max(self.text.find(">", self.at), self.at)]
            if not name or not set(name) <= WORD:
                self._refuse("a bad name of a group, or a look around, which RE2 lacks")
            self.at += len(name) + 1
        elif self._take("?"):
            on, _, off = self._flags().partition("-")
            self.flags = self.flags | set(on) - set(off)
            if self.text[self.at - 1] == ")":
                return None
        self.depth += 1
        if self.depth > DEEPEST:
            self._refuse("groups are nested too deeply")
        tree = self._choice()
        if not self._take(")"):
            self._refuse("a missing )")
        self.depth -= 1
        self.flags = outer
        return tree

    def _flags(self) -> str:
        start = self.at
        while (c := self._next()) in "imsU-":
            pass
        if c not in ":)" or self.text.count("-", start, self.at) > 1:
            self._refuse("what RE2 lacks after (?")
        return self.text[start:self.at - 1]

    def _escape(self) -> Test:
        """What a backslash begins: a class or a character."""
        c = self._next()
        if c.lower() in PERL:
            return one_of(PERL[c]) if c in PERL else negated(one_of(PERL[c.lower()]))
        if c in "pP":
            name = self._next()
            if name == "{":
                name, self.at = self.text[self.at:self.text.find("}", self.at)], self.text.find("}", self.at) + 1
            test = property_named(name.removeprefix("^"))
            return negated(test) if (c == "P") != name.startswith("^") else test
        self.at -= 1
        return self._character().__eq__

    def _character(self) -> str:
        """One character, by what follows a backslash."""
        c = self._next()
        if c in ESCAPES:
            return ESCAPES[c]
        if c == "x":
            return self._coded()
        if c in "01234567":
            digits = c + self.text[self.at:self.at + 2]
            digits = digits[:next((i for i, d in enumerate(digits) if d not in "01234567"), 3)]
            if c == "0" or len(digits) > 1:
                self.at += len(digits) - 1
                return chr(int(digits, 8))
        if c.isascii() and not c.isalnum():
            return c
        self._refuse(f"\\{c}, which RE2 lacks")
        return c

    def _coded(self) -> str:
        """A character by its number: two hexadecimal digits, or some in braces."""
        if self._take("{"):
            digits = self.text[self.at:max(self.text.find("}", self.at), self.at)]
            self.at += len(digits) + 1
        else:
            digits = self.text[self.at:self.at + 2]
            self.at += 2
        if not digits or not set(digits) <= POSIX["xdigit"] or len(digits) > 6 or int(digits, 16) > 0x10FFFF:
            self._refuse("a bad number of a character")
        return chr(int(digits, 16))

    def _set(self) -> Test:
        """A class in brackets."""
        turned = self._take("^")
        tests: list[Test] = []
        first = True
        while first or not self._take("]"):
            first = False
            tests.append(self._member())
        test = self._folded(either(tests))
        return negated(test) if turned else test

    def _member(self) -> Test:
        """A class, a range or a character in brackets."""
        if self._take("[:"):
            name = self.text[self.at:max(self.text.find(":]", self.at), self.at)]
            if name.removeprefix("^") not in POSIX:
                self._refuse(f"the class [:{name}:]")
            self.at += len(name) + 2
            test = one_of(POSIX[name.removeprefix("^")])
            return negated(test) if name.startswith("^") else test
        following = self.text[self.at:self.at + 2]
        if following[:1] == "\\" and following[1:].lower() in ("d", "s", "w", "p"):
            self.at += 1
            return self._escape()
        low = self._end_of_range()
        if self.text[self.at:self.at + 1] == "-" and self.text[self.at + 1:self.at + 2] not in ("]", ""):
            self.at += 1
            high = self._end_of_range()
            if high < low:
                self._refuse("a range that goes down")
            return between(low, high)
        return low.__eq__

    def _end_of_range(self) -> str:
        c = self._next()
        return self._character() if c == "\\" else c
