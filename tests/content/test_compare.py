"""What visits find, rule by rule."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recrawl.content.absence import Patience
from recrawl.content.compare import MAX_IGNORED, compare, wants_full
from recrawl.content.comparison import Comparison
from recrawl.content.reader import Reader
from recrawl.content.second_fetch import compare_twice, learn_noise, wants_second_fetch
from recrawl.records import Fingerprint, Outcome, Page, Response, State, Validators

READER = Reader()
URL = "http://example.org/a/b"
SOUP, STEW = b"<p>Soup</p>", b"<p>Stew</p>"
NOW = 1_800_000_000_000_000
DAY = 86_400_000_000


def answer(body: bytes | None = SOUP, status: int = 200, **more: Any) -> Response:  # noqa: ANN401
    headers = (("content-type", "text/html"), *more.pop("headers", ()))
    return Response(more.pop("url", URL), status, more.pop("at", NOW), headers, body, **more)


def first() -> Comparison:
    """Return a first visit, with the fingerprint that is made when it is needed."""
    found = compare(Page(1, URL, "example.org"), answer(headers=(("ETag", '"1"'),)), READER)
    read = READER.read(SOUP, "text/html").fingerprint()
    return replace(found, page=replace(found.page, fingerprint=read))


def test_a_fingerprint_is_made_when_a_body_differs() -> None:
    page = compare(Page(1, URL, "example.org"), answer(), READER).page
    assert page.fingerprint is None
    same = compare(page, answer(), READER)
    assert (same.outcome, same.content, same.page.fingerprint) == (Outcome.UNCHANGED, None, None)
    for body, outcome in ((SOUP + b"<!-- 1 -->", Outcome.UNCHANGED), (STEW, Outcome.CHANGED)):
        found = compare(page, answer(body), READER, SOUP)
        assert found.outcome is outcome
        assert found.page.fingerprint == READER.read(body, "text/html").fingerprint()
    assert compare(page, answer(b""), READER, SOUP).outcome is Outcome.FAILED


def test_a_server_that_tells_versions_apart_is_believed_the_first_time() -> None:
    before = first().page
    changed = compare(before, answer(STEW), READER).page
    assert wants_second_fetch(before, changed)
    known = replace(before, not_modified=1)
    assert not wants_second_fetch(known, compare(known, answer(STEW), READER).page)


def test_a_first_visit() -> None:
    found = first()
    assert (found.outcome, found.content) == (Outcome.FIRST, SOUP)
    page = found.page
    assert (page.visits, page.changes, page.streak, page.last_visit) == (1, 0, 0, NOW)
    assert page.validators == Validators('"1"', None)
    assert page.body is not None
    assert len(page.body) == 16


def test_the_same_content_keeps_the_copy_and_takes_the_validators() -> None:
    page = first().page
    other_bytes = b"<p>Soup</p><script>1</script>"
    found = compare(page, answer(other_bytes, headers=(("ETag", '"2"'),), at=NOW + 5), READER)
    assert (found.outcome, found.content) == (Outcome.UNCHANGED, None)
    assert found.page.validators == Validators('"2"', None)
    assert found.page.body == page.body
    assert (found.page.visits, found.page.last_visit) == (2, NOW + 5)


def test_other_content_is_a_change() -> None:
    page = replace(first().page, streak=2, not_modified=3, failures=4)
    found = compare(page, answer(STEW), READER)
    assert (found.outcome, found.content) == (Outcome.CHANGED, STEW)
    assert found.page.validators == Validators()
    assert (found.page.changes, found.page.streak, found.page.not_modified) == (1, 3, 0)
    assert found.page.failures == 0
    assert found.page.body != page.body


@pytest.mark.parametrize(
    "bad",
    [
        answer(None, 0, error="no connection: refused"),
        answer(b"<p>Oops", 500, error="the server answered 500"),
        answer(b"<p>Oops", 500),
        answer(None, 204),
        answer(b""),
        answer(b"<script>1</script>"),
    ],
)
def test_an_error_is_no_change(bad: Response) -> None:
    page = replace(first().page, streak=1)
    found = compare(page, bad, READER)
    assert found.outcome is Outcome.FAILED
    is_empty = bad.status == 200
    assert found.page == replace(page, failures=1, missing_since=NOW if is_empty else None)
    assert found.content is None
    assert found.problem


@pytest.mark.parametrize(
    ("days_apart", "failures"), [(1.0, 14), (5.0, 3), (10.0, 3)], ids=["often", "rarely", "hardly"]
)
def test_a_page_that_stays_empty_for_weeks_is_believed(days_apart: float, failures: int) -> None:
    page = first().page
    outcomes = []
    for number in range(failures + 2):
        at = NOW + round(number * days_apart * DAY)
        found = compare(page, answer(b" ", at=at), READER)
        outcomes.append(found.outcome)
        page = found.page
    assert outcomes == [Outcome.FAILED] * failures + [Outcome.CHANGED, Outcome.UNCHANGED]


def test_a_page_that_never_had_text_is_not_suddenly_empty() -> None:
    shells = [f"<html><body><script>app({build})</script></body></html>".encode() for build in "12"]
    page = compare(Page(1, URL, "example.org"), answer(shells[0]), READER).page
    assert compare(page, answer(shells[1]), READER, shells[0]).outcome is Outcome.UNCHANGED


def test_a_page_that_was_empty_for_a_while_has_not_changed() -> None:
    page = first().page
    for number in range(10):
        page = compare(page, answer(b" ", at=NOW + number * DAY), READER).page
    found = compare(page, answer(at=NOW + 10 * DAY), READER)
    assert found.outcome is Outcome.UNCHANGED
    assert found.page.missing_since is None


def test_a_selector_that_finds_nothing_any_more_is_a_change() -> None:
    reader = Reader("selector", "p")
    page = compare(Page(1, URL, "example.org"), answer(), reader).page
    assert compare(page, answer(b"<div>Soup</div>"), reader, SOUP).outcome is Outcome.CHANGED
    assert compare(page, answer(b""), reader, SOUP).outcome is Outcome.FAILED


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_is_gone_when_confirmed_and_a_change_when_it_comes_back(status: int) -> None:
    page = replace(first().page, failures=7)
    states = []
    for _ in range(3):
        found = compare(page, answer(None, status), READER, patience=Patience(gone_time=0))
        assert found.outcome is Outcome.GONE
        page = found.page
        states.append(page.state)
    assert states == [State.MISSING, State.MISSING, State.GONE]
    back = compare(page, answer(), READER)
    assert (back.outcome, back.page.state, back.page.failures) == (Outcome.CHANGED, State.ALIVE, 0)
    assert back.content is None, "the copy is the same"
    assert compare(page, answer(None, 304), READER).outcome is Outcome.CHANGED


def test_a_page_that_was_never_there_is_first_when_it_comes() -> None:
    page = compare(Page(1, URL, "example.org"), answer(None, 404), READER).page
    assert page.state is State.MISSING
    assert compare(page, answer(), READER).outcome is Outcome.FIRST


def test_a_page_is_gone_only_when_it_was_missing_for_as_long_as_patience_lasts() -> None:
    page, states = first().page, []
    for passed in (0, 30, 98, 99, 100):
        page = compare(
            page, answer(None, 404, at=NOW + passed), READER, patience=Patience(2, 100)
        ).page
        states.append(page.state)
    assert states == [*[State.MISSING] * 4, State.GONE]


def test_how_often_a_page_must_not_be_found_can_be_chosen() -> None:
    gone = compare(first().page, answer(None, 404), READER, patience=Patience(1, 0))
    assert gone.page.state is State.GONE


@pytest.mark.parametrize(
    ("asked", "got", "outcome"),
    [
        ("http://example.org/a/b", "http://example.org/", Outcome.GONE),
        ("http://example.org/index.html", "http://example.org/", Outcome.FIRST),
        ("http://example.org/a/b", "http://example.com/", Outcome.FIRST),
        ("http://example.org/a/b", "http://example.org/c", Outcome.FIRST),
        ("http://example.org/a/b", "http://example.org/?p=3", Outcome.FIRST),
    ],
)
def test_a_deep_page_that_leads_home_is_not_there(asked: str, got: str, outcome: Outcome) -> None:
    assert compare(Page(1, asked, "example.org"), answer(url=got), READER).outcome is outcome


def test_not_modified() -> None:
    page = replace(first().page, not_modified=4, streak=2, failures=1)
    date = "Mon, 16 Nov 2026 02:57:00 GMT"
    found = compare(page, answer(None, 304, headers=(("Last-Modified", date),)), READER)
    assert found.outcome is Outcome.UNCHANGED
    assert found.page.validators == Validators('"1"', date)
    assert (found.page.not_modified, found.page.streak, found.page.failures) == (5, 0, 0)
    assert found.last_modified == 1_794_797_820_000_000
    assert found.page.body == page.body


def test_not_modified_without_a_copy_is_a_failure() -> None:
    found = compare(Page(1, URL, "example.org"), answer(None, 304), READER)
    assert found.outcome is Outcome.FAILED


def test_after_twenty_not_modified_a_page_is_fetched_in_full() -> None:
    page = first().page
    assert [wants_full(replace(page, not_modified=n)) for n in (0, 19, 20, 21)] == [
        *(False, False, True, True)
    ]


def test_another_kind_is_no_change() -> None:
    page = replace(first().page, ignored=frozenset({b"12345678"}))
    main = Reader("main")
    same = compare(page, answer(SOUP + b" "), main, SOUP)
    assert same.outcome is Outcome.UNCHANGED
    assert same.page.fingerprint is not None
    assert same.page.fingerprint.kind == "main/9"
    assert same.page.ignored == frozenset()
    assert compare(page, answer(STEW), main, SOUP).outcome is Outcome.CHANGED
    assert compare(page, answer(STEW), main, main.read(SOUP)).outcome is Outcome.CHANGED
    assert compare(page, answer(STEW), main).outcome is Outcome.FIRST


def test_a_newer_version_of_a_kind_is_another_kind() -> None:
    page = replace(first().page, fingerprint=Fingerprint("text/0", b"old"))
    assert compare(page, answer(SOUP + b" "), READER, SOUP).outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Sat, 01 Jan 2050 00:00:00 GMT", NOW),
        ("Mon, 16-Nov-2026 02:57:00 GMT", 1_794_797_820_000_000),
        ("Mon, 16 Nov 2026 02:57:00 +0000", 1_794_797_820_000_000),
        ("0", None),
        ("-1", None),
        ("Mon, 99 Foo 2026 99:99:99 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", None),
        ("Mon, 16 Nov 99999 00:00:00 GMT", None),
        ("Mon, 01 Jan 1990 00:00:00 GMT", 631_152_000_000_000),
        ("Sun, 31 Dec 1989 23:59:59 GMT", None),
        ("2026-11-16T02:57:00Z", 1_794_797_820_000_000),
    ],
)
def test_last_modified_is_read_leniently(header: str, found: int | None) -> None:
    it = compare(first().page, answer(headers=(("last-modified", header),)), READER)
    assert it.last_modified == found
    assert it.page.validators.last_modified == header


@given(st.text(max_size=60))
def test_any_header_can_be_read(header: str) -> None:
    compare(first().page, answer(headers=(("last-modified", header),)), READER)


def test_a_second_look_that_fails_leaves_what_was_found() -> None:
    page = first().page
    for second in (answer(None, 0, error="timed out"), answer(None, 404), answer(b"")):
        found = compare_twice(page, answer(STEW), second, READER, SOUP)
        assert (found.outcome, found.content) == (Outcome.CHANGED, STEW)


def test_a_change_that_only_the_second_look_finds_waits_for_the_next_visit() -> None:
    found = compare_twice(first().page, answer(None, 304), answer(STEW), READER, SOUP)
    assert (found.outcome, found.content) == (Outcome.UNCHANGED, None)


def test_a_real_change_among_noise_is_a_change_with_the_newest_copy() -> None:
    page = compare(Page(1, URL, "example.org"), answer(b"<p>Soup</p><h5>n 1</h5>"), READER).page
    one, two = b"<p>Stew</p><h5>n 2</h5>", b"<p>Stew</p><h5>n 3</h5>"
    found = compare_twice(page, answer(one), answer(two), READER, b"<p>Soup</p><h5>n 1</h5>")
    assert (found.outcome, found.content) == (Outcome.CHANGED, two)
    assert found.page.ignored
    again = compare(found.page, answer(b"<p>Stew</p><h5>n 4</h5>"), READER)
    assert again.outcome is Outcome.UNCHANGED


def test_a_page_ignores_no_more_blocks_than_the_limit() -> None:
    one, other = (READER.read(b"<p>Soup<h5>n %d</h5>" % n) for n in (1, 2))
    (key,) = one.noise(other)
    keys = [n.to_bytes(8, "big") for n in range(MAX_IGNORED)]
    page = replace(first().page, ignored=frozenset(keys[1:]))
    learned = learn_noise(page, one, other)
    assert learned.ignored == page.ignored | {key}
    assert learned.fingerprint == other.fingerprint(learned.ignored)
    full = replace(page, ignored=frozenset(keys))
    assert learn_noise(full, one, other) is full
    assert learn_noise(page, one, one) is page


def test_a_missing_page_that_comes_back_with_noise_is_a_change() -> None:
    bodies = [b"<p>Soup</p><h5>n %d</h5>" % n for n in range(3)]
    page = compare(Page(1, URL, "example.org"), answer(bodies[0]), READER).page
    missing = replace(page, state=State.MISSING)
    for before, outcome in ((page, Outcome.UNCHANGED), (missing, Outcome.CHANGED)):
        found = compare_twice(before, answer(bodies[1]), answer(bodies[2]), READER, bodies[0])
        assert (found.outcome, found.page.state) == (outcome, State.ALIVE)
        assert len(found.page.ignored) == 1


def test_without_a_copy_noise_is_learned_and_the_change_stands() -> None:
    bodies = [b"<p>Soup</p><h5>n %d</h5>" % n for n in range(3)]
    page = compare(first().page, answer(bodies[0]), READER).page
    found = compare_twice(page, answer(bodies[1]), answer(bodies[2]), READER)
    assert (found.outcome, found.content) == (Outcome.CHANGED, bodies[2])
    assert found.page.ignored


def test_bodies_that_differ_in_scripts_only_are_known_by_their_markup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = compare(first().page, answer(STEW + b"<script>1</script>"), READER, SOUP).page
    # Whoever calls it with a page fails.
    monkeypatch.setattr("recrawl.content.reader.outline", lambda: None)
    same = compare(page, answer(STEW + b"<script>2</script>"), READER, STEW)
    assert (same.outcome, same.change, same.content) == (Outcome.UNCHANGED, None, None)
    assert same.page.fingerprint == page.fingerprint
    with pytest.raises(TypeError):
        compare(page, answer(SOUP + b"<script>2</script>"), READER, STEW)


def test_a_missing_page_that_comes_back_with_the_same_markup_is_a_change() -> None:
    page = replace(first().page, state=State.MISSING)
    back = compare(page, answer(SOUP + b"<script>2</script>"), READER, SOUP)
    assert back.outcome is Outcome.CHANGED


def test_a_fingerprint_without_a_digest_of_the_markup_is_compared_in_full() -> None:
    known = replace(READER.read(SOUP, "text/html").fingerprint(), markup=b"")
    page = replace(first().page, fingerprint=known)
    assert compare(page, answer(STEW), READER, SOUP).outcome is Outcome.CHANGED
    same = compare(page, answer(SOUP + b"<script>2</script>"), READER, SOUP)
    assert same.outcome is Outcome.UNCHANGED
    assert same.page.fingerprint is not None
    assert same.page.fingerprint.markup != b""


@pytest.mark.parametrize(("missing", "rests"), [(1, 14), (60, 60), (3_650, 182)])
def test_a_gone_page_rests_for_as_long_as_it_was_missing_between_two_weeks_and_half_a_year(
    missing: int, rests: int
) -> None:
    day = 86_400_000_000
    page = Page(1, "https://e.org/", "e.org", state=State.MISSING, failures=9, missing_since=day)
    at = (1 + missing) * day
    gone = compare(page, Response(page.url, 404, at), Reader()).page
    assert (gone.state, gone.retry_at) == (State.GONE, at + rests * day)


def test_pages_that_are_too_long_teach_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (READER.read(b"<p>Visitor</p><p>%d</p>" % n, "text/html") for n in (1, 2))
    assert one.noise(other)
    monkeypatch.setattr("recrawl.content.page_content._MAX_BLOCKS", 3)
    assert not one.noise(other)
