"""Records: what `dataclasses` does for classes of named fields, as far as this package needs it."""
import pytest

from interp.record import astuple, field, record, replace


@record(frozen=True)
class Point:
    x: int
    y: int = 2


@record
class Bag:
    name: str
    things: list = field(default_factory=list)


@record(eq=False)
class Named:
    name: str
    also: str = None

    def __post_init__(self):
        self.also = self.also or self.name


def test_fields_come_in_order_or_by_name_and_have_defaults():
    assert astuple(Point(1)) == (1, 2)
    assert astuple(Point(y=4, x=3)) == (3, 4)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)


def test_what_is_made_by_default_is_made_for_each():
    one, other = Bag("a"), Bag("a")
    one.things.append(1)
    assert other.things == [] and Bag("b", [3]).things == [3]


def test_records_are_compared_and_hashed_by_their_fields_or_not_at_all():
    assert Point(1) == Point(1, 2) != Point(2) and len({Point(1), Point(1, 2)}) == 1
    assert Point(1) != Bag("a") and Bag("a") == Bag("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Bag("a"))
    named = Named("a")
    assert named != Named("a") and {named: 1}[named] == 1


def test_a_record_shows_its_fields():
    assert repr(Point(1)) == "Point(x=1, y=2)"


def test_the_last_word_of_a_constructor_is_the_class_s_own():
    assert Named("a").also == "a" and Named("a", "b").also == "b"


def test_replacing_leaves_the_first_as_it_was():
    first = Point(1)
    assert replace(first, y=5) == Point(1, 5) and first == Point(1)
    with pytest.raises(TypeError, match="Point has no field z"):
        replace(first, z=1)
