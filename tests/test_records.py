"""The records that packages exchange."""

import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from hashlib import blake2b

import pytest

from recrawl.content.comparison import visited_page
from recrawl.records import (
    Fingerprint,
    Outcome,
    Page,
    Response,
    State,
    Validators,
    Visit,
    digest_of,
    quick,
)

#: A page of which no attribute is what it is by default.
PAGE = Page(
    number=7,
    url="http://example.org/a",
    host="example.org",
    importance=2.0,
    depth=3,
    state=State.MISSING,
    last_visit=11,
    validators=Validators('"a"', "then"),
    fingerprint=Fingerprint("text/1", b"f"),
    ignored=frozenset({b"i"}),
    suspects=b"s",
    body=b"b",
    visits=4,
    changes=2,
    streak=1,
    not_modified=5,
    failures=6,
    missing_since=12,
    retry_at=13,
    reason="refused",
)


def test_quick_records_are_equal_to_frozen_ones_in_all_but_speed() -> None:
    @dataclass(frozen=True, slots=True)
    class Frozen:
        x: int
        y: tuple[int, ...] = ()

    frozen = Frozen(1)
    with pytest.raises(FrozenInstanceError):
        frozen.x = 2  # type: ignore[misc]
    made = quick(Frozen)
    again = made(x=1)
    assert again == made(1, ()) == replace(made(2), x=1) != made(2)
    assert hash(again) == hash(made(1))
    assert repr(again).endswith("Frozen(x=1, y=())")
    with pytest.raises(TypeError):
        made()  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        again.z = 3  # type: ignore[attr-defined]


def test_records_survive_the_way_to_another_process() -> None:
    visit = Visit(PAGE, Outcome.CHANGED, Response(PAGE.url, 200, 5, (("A", "b"),), b"body"))
    assert pickle.loads(pickle.dumps(visit)) == visit  # noqa: S301 - our own


def test_a_visit_that_finds_the_page_keeps_what_it_does_not_change() -> None:
    response = Response(PAGE.url, 200, at=20)
    found = visited_page(PAGE, response, Outcome.CHANGED, Validators('"n"'), 0, b"new")
    assert found == replace(
        PAGE,
        state=State.ALIVE,
        last_visit=20,
        validators=Validators('"n"'),
        body=b"new",
        visits=5,
        changes=3,
        streak=2,
        not_modified=0,
        failures=0,
        missing_since=None,
        retry_at=None,
        reason=None,
    )
    assert visited_page(PAGE, response, Outcome.UNCHANGED, PAGE.validators, 6, b"b").streak == 0
    usual = Page(0, "", "")
    unlike = [
        one.name for one in fields(Page) if getattr(PAGE, one.name) != getattr(usual, one.name)
    ]
    assert unlike == [one.name for one in fields(Page)]


@pytest.mark.parametrize("size", [0, 1, 2_046, 2_047, 2_048, 5_000, 16_384, 16_385, 200_000])
def test_bodies_of_any_size_have_the_digest_of_all_their_bytes(size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    assert digest_of(body) == blake2b(body, digest_size=16).digest()
