"""The templates of sites: in memory as long as they are needed, and in the store."""

import asyncio
import pickle
from dataclasses import replace
from typing import Any

import pytest
from crawler.fakes import FakeWeb, MemoryStore, crawl, settings_of

from recrawl.content.boilerplate.template import MAX_ELEMENTS, SiteTemplate
from recrawl.content.reading import Reading, read_response
from recrawl.crawler.build import load
from recrawl.engine.record import Recorder
from recrawl.engine.templates import Templates
from recrawl.http.memory_budget import MemoryBudget
from recrawl.records import Outcome, Page, Response, Visit
from recrawl.store.rows import NewPage, Spent
from recrawl.store.thread import StoreThread

MENU = b"menu.."
URLS = [f"https://a.example/{number}" for number in range(5)]


def visit(number: int, host: str = "a.example", text: int = 0) -> Visit:
    page = Page(number, f"https://{host}/{number}", host, last_visit=1, visits=1)
    sketches = {MENU: (1, 2, 3), b"text..": (number + 10, text)}
    return Visit(page, Outcome.FIRST, Response(page.url, 200, 1), sketches=sketches)


def test_a_site_is_learned_from_its_pages_and_not_from_others() -> None:
    templates = Templates()
    for number in range(3):
        templates.learn(visit(number))
        templates.learn(visit(0, "b.example", text=number))
    assert templates.of("a.example").furniture == {MENU}
    assert not templates.of("b.example").furniture
    assert templates.of("b.example").pages == 3


def test_a_visit_that_read_nothing_teaches_nothing() -> None:
    templates = Templates()
    templates.learn(replace(visit(0), sketches=None))
    assert templates.changed() == {}


def test_what_was_given_out_stays_as_it_was() -> None:
    """Another thread may be sending it to a process while more is learned."""
    templates = Templates()
    before = templates.of("a.example")
    templates.learn(visit(0))
    assert (before.pages, templates.of("a.example").pages) == (0, 1)


def test_only_what_was_learned_since_is_written() -> None:
    templates = Templates({"b.example": SiteTemplate().to_bytes()}.get)
    templates.of("b.example")
    templates.learn(visit(0))
    (written,) = templates.changed().values()
    assert SiteTemplate.from_bytes(written).pages == 1
    assert templates.changed() == {}


def test_hosts_beyond_the_limit_are_read_from_the_store_again() -> None:
    store: dict[str, bytes] = {}
    asked: list[str] = []

    def load(host: str) -> bytes | None:
        asked.append(host)
        return store.get(host)

    templates = Templates(load, max_hosts=2)
    hosts = ["a.example", "b.example", "c.example"]
    for host in hosts:
        templates.learn(visit(0, host))
    # What is not written yet cannot be forgotten.
    assert len(templates) == 3
    store |= templates.changed()
    assert templates.of("c.example").pages == 1
    assert len(templates) == 2
    assert asked == hosts
    assert templates.of("a.example").pages == 1
    assert asked == [*hosts, "a.example"]


def test_a_template_is_written_with_the_visits_that_taught_it() -> None:
    store = MemoryStore(*URLS)
    templates = Templates(store.template)
    frontier = load(store, settings_of(), 1)
    recorder = Recorder(frontier, StoreThread(store), MemoryBudget(), templates=templates)
    for number in range(3):
        recorder.add(visit(number))
    assert store.templates == {}
    batch = recorder.take_batch()
    # What waits to be written is small.
    assert [one.sketches for one in batch] == [None] * 3
    frontier.hold(range(3))
    asyncio.run(recorder.write(batch, Spent(1)))
    assert SiteTemplate.from_bytes(store.templates["a.example"]).furniture == {MENU}
    assert Templates(store.template).of("a.example").furniture == {MENU}


def test_a_crawl_teaches_templates_and_the_next_one_knows_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[SiteTemplate] = []

    def read(page: Page, *args: Any, template: SiteTemplate | None = None, **rules: Any) -> Reading:  # noqa: ANN401
        found = read_response(page, *args, **rules)
        if template is None:
            return found
        given.append(template)
        return replace(found, sketches=visit(page.number).sketches)

    monkeypatch.setattr("recrawl.fetching.visit.read_response", read)
    store = MemoryStore(*URLS)
    crawl(FakeWeb(lambda url: f"<p>{url}"), store, settings_of(), seconds=3.0)
    # Each first body was read, and the pages that did not change since were not read again.
    assert [template.pages for template in given] == list(range(len(URLS)))
    known = SiteTemplate.from_bytes(store.templates["a.example"])
    assert (known.pages, known.furniture) == (len(URLS), frozenset({MENU}))
    given.clear()
    store.add([NewPage("https://a.example/new", "a.example")], 0)
    crawl(FakeWeb(lambda url: f"<p>{url}"), store, settings_of(), seconds=3.0, begin=10**7)
    assert [template.furniture for template in given] == [{MENU}]


def test_a_template_is_small_and_forgets_what_is_not_seen_any_more() -> None:
    template = SiteTemplate()
    for number in range(3):
        before = {b"b%05d" % element: (element,) for element in range(MAX_ELEMENTS * 3 // 4)}
        template.learn(number, before)
    assert len(template.furniture) == MAX_ELEMENTS * 3 // 4
    for number in range(3):
        after = {b"a%05d" % element: (element,) for element in range(MAX_ELEMENTS)}
        template.learn(number, after)
    assert template.furniture == after.keys()
    assert len(template.to_bytes()) <= 20_000
    assert pickle.loads(pickle.dumps(template)).furniture == after.keys()  # noqa: S301 - our own


def test_what_is_damaged_is_as_good_as_nothing() -> None:
    template = SiteTemplate()
    template.learn(0, {MENU: (1,)})
    whole = template.to_bytes()
    for damaged in (b"", whole[:-1], bytes([99]) + whole[1:]):
        assert SiteTemplate.from_bytes(damaged).pages == 0


def calm(host: str = "a.example", outcome: Outcome = Outcome.UNCHANGED) -> Visit:
    """Make a visit that parsed nothing."""
    return replace(visit(0, host), outcome=outcome, sketches=None)


def test_visits_that_found_nothing_new_are_counted_with_the_next_that_did() -> None:
    templates = Templates()
    # Nothing is known of the host yet.
    templates.learn(calm())
    templates.learn(visit(0))
    assert templates.of("a.example").visits == 1
    for one in (calm(), calm(), calm(outcome=Outcome.FAILED), calm("b.example"), visit(1)):
        templates.learn(one)
    assert templates.of("a.example").visits == 4
    # Each once.
    templates.learn(visit(2))
    assert templates.of("a.example").visits == 5


def test_a_host_that_was_forgotten_begins_anew_with_what_the_store_has() -> None:
    """Also with its calm visits; and the hosts used longest ago are forgotten first."""
    store: dict[str, bytes] = {}
    templates = Templates(store.get, max_hosts=2)

    def learn(host: str, *visits: Visit) -> None:
        for one in visits:
            templates.learn(one)
        store.update(templates.changed())
        templates.of(host)

    learn("a.example", visit(0), calm())
    learn("b.example", visit(0, "b.example"))
    assert len(templates) == 2
    templates.of("a.example")
    learn("c.example", visit(0, "c.example"))
    # The second had to go, though it was loaded after the first.
    store["b.example"] = b""
    assert [templates.of(host).pages for host in ("a.example", "b.example")] == [1, 0]
    # Now the first has gone, and its calm visit with it, or it would count twice.
    templates.of("c.example")
    templates.learn(visit(1))
    assert templates.of("a.example").visits == 2


def test_a_host_stops_being_young_for_as_long_as_it_is_in_memory() -> None:
    old, asked = SiteTemplate(), list[str]()
    while old.is_young:
        old.learn(1, {MENU: (1, 2, 3)})
    stored = old.to_bytes()

    def load(host: str) -> bytes | None:
        asked.append(host)
        return stored if host == "a.example" else None

    templates = Templates(load, max_hosts=1)
    assert [templates.is_young("a.example") for _ in range(3)] == [False] * 3
    assert asked == ["a.example"]
    assert templates.is_young("b.example")
    # It was forgotten, and has to be read again: it may have been replaced meanwhile.
    stored = b""
    assert templates.is_young("a.example")


def test_a_thousand_hosts_are_in_memory() -> None:
    templates = Templates()
    for number in range(1_001):
        templates.of(f"{number}.example")
    assert len(templates) == 1_000
