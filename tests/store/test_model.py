"""The store against plain dictionaries, in any order of adding, visiting and removing."""

import math
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from store.made_up import HOUR, NOON, address, failed, found, gone, unchanged

from recrawl.records import Outcome, Page, State, Visit, digest_of
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

NAMES = st.integers(0, 7)
CONTENTS = st.sampled_from([b"", b"one", b"two", b"three" * 2_000])
IMPORTANCES = st.none() | st.sampled_from([0.0, 1.0, 2.5])


class Model(RuleBasedStateMachine):
    """A store in dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = SqliteStore.open(self.folder / "recrawl.db", create=True)
        self.pages: dict[int, Page] = {}
        self.beliefs: dict[int, tuple[float, float]] = {}
        self.contents: dict[bytes, bytes] = {}
        self.log: dict[tuple[int, int], Outcome] = {}
        self.changes: dict[tuple[int, int], tuple[int | None, float | None]] = {}
        self.templates: dict[str, bytes] = {}
        self.requests = 0
        self.numbers = 0
        self.now = NOON
        # What a run that reads the edits now and then knows.
        self.serial = 0
        self.followed: dict[str, tuple[int, float]] = {}
        # What is there, and what a reader of the feed knows.
        self.there: dict[str, bytes] = {}
        self.cursor = self.store.feed.start()
        self.index: dict[str, bytes] = {}
        self.versions: dict[int, list[bytes]] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    def by_url(self) -> dict[str, Page]:
        return {page.url: page for page in self.pages.values()}

    @rule(named=st.lists(st.tuples(NAMES, IMPORTANCES, st.integers(0, 3)), max_size=6))
    def add(self, named: list[tuple[int, float | None, int]]) -> None:
        before = self.by_url()
        for name, importance, depth in named:
            page = self.by_url().get(address(name))
            if page is None:
                page = Page(self.numbers, address(name), f"host{name % 3}.example", depth=depth)
                self.numbers += 1
            state = State.MISSING if page.state is State.GONE else page.state
            self.pages[page.number] = replace(
                page,
                importance=page.importance if importance is None else importance,
                depth=min(depth, page.depth),
                state=state,
                failures=0 if page.state is State.GONE else page.failures,
            )
        urls = {address(name) for name, _, _ in named}
        new = len(urls - set(before))
        revived = sum(before[url].state is State.GONE for url in urls & set(before))
        added = self.store.add(
            [NewPage(address(n), f"host{n % 3}.example", w, depth) for n, w, depth in named],
            at=self.now,
        )
        counted = (added.new, added.known, added.revived)
        assert counted == (new, len(named) - new - revived, revived)

    @rule(names=st.sets(NAMES, max_size=3))
    def remove(self, names: set[int]) -> None:
        urls = {address(name) for name in names}
        numbers = sorted(number for number, page in self.pages.items() if page.url in urls)
        assert self.store.remove(urls) == numbers
        for number in numbers:
            self.there.pop(self.pages[number].url, None)
            self.versions.pop(number, None)
            del self.pages[number]
            self.beliefs.pop(number, None)
        self.log = {visit: o for visit, o in self.log.items() if visit[0] not in numbers}
        self.changes = {visit: self.changes[visit] for visit in self.log}

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), again=st.booleans())
    def visit(self, data: st.DataObject, *, again: bool) -> None:
        chosen = data.draw(st.lists(st.sampled_from(sorted(self.pages)), unique=True, max_size=5))
        self.now += data.draw(st.sampled_from([1, HOUR // 3]))
        visits = [self._visit(data, self.pages[number]) for number in chosen]
        for visit in visits:
            number = visit.page.number
            old = self.pages[number].body
            if visit.content is not None and old not in (None, visit.page.body):
                self.versions[number] = [old or b"", *self.versions.get(number, [])][:2]
            self.pages[number] = visit.page
            self.log[number, self.now] = visit.outcome
            change = visit.change
            self.changes[number, self.now] = (change.kind, change.share) if change else (None, None)
            self.requests += visit.response.requests
            if visit.belief is not None:
                self.beliefs[number] = visit.belief
            if visit.content is not None:
                self.contents[digest_of(visit.content)] = visit.content
                self.there[visit.page.url] = digest_of(visit.content)
            if visit.outcome is Outcome.GONE:
                self.there.pop(visit.page.url, None)
        taught = {visit.page.host: b"%d" % self.now for visit in visits}
        self.templates |= taught
        self.store.record(visits, templates=taught)
        if again:
            self.store.record(visits)

    def _visit(self, data: st.DataObject, page: Page) -> Visit:
        kinds = ["found", "failed", "gone"] + (["unchanged"] if page.body else [])
        match data.draw(st.sampled_from(kinds)):
            case "found":
                return found(page, data.draw(CONTENTS), self.now)
            case "failed":
                return failed(page, self.now)
            case "gone":
                return gone(page, self.now)
        return unchanged(page, self.now)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore.open(self.folder / "recrawl.db")

    @rule()
    def follow_edits(self) -> None:
        edits = self.store.changes_since(self.serial)
        self.serial = edits.serial
        for page in edits.added:
            self.followed[page.url] = (page.number, page.importance)
        removed = set(edits.removed)
        self.followed = {
            url: known for url, known in self.followed.items() if known[0] not in removed
        }
        for number, importance in edits.importance:
            self.followed[self.pages[number].url] = (number, importance)
        assert self.followed == {
            page.url: (page.number, page.importance) for page in self.pages.values()
        }

    @rule(limit=st.integers(1, 5), anew=st.booleans())
    def follow_feed(self, limit: int, *, anew: bool) -> None:
        if anew:
            self.index, self.cursor = {}, self.store.feed.start()
        while changes := self.store.feed.read(self.cursor, limit):
            for change in changes:
                if change.after is None:
                    self.index.pop(change.url, None)
                else:
                    self.index[change.url] = change.after
            self.cursor = changes[-1].cursor
        assert self.index == self.there

    @invariant()
    def same(self) -> None:
        assert self.store.pages(range(self.numbers)) == self.pages
        rows = [row for batch in self.store.visits(batch=3) for row in batch.to_pylist()]
        assert {(row["page"], row["at"]): row["outcome"] for row in rows} == self.log
        assert len(rows) == len(self.log)
        told = {(row["page"], row["at"]): (row["change_kind"], row["change_share"]) for row in rows}
        assert told == self.changes
        hosts = [f"host{number}.example" for number in range(3)]
        assert {h: b for h in hosts if (b := self.store.template(h))} == self.templates
        assert self.store.spent(0).requests == self.requests
        copies = {copy.page.number: copy.response.body for copy in self.store.copies()}
        assert copies == {
            number: self.contents[page.body]
            for number, page in self.pages.items()
            if page.body is not None
        }
        for number, page in self.pages.items():
            older = [copy.response.body for copy in self.store.versions(page)[1:]]
            assert older == [self.contents[digest] for digest in self.versions.get(number, [])]
        used = [digest_of(body or b"") for body in copies.values()]
        used += [digest for digests in self.versions.values() for digest in digests]
        assert self.store.totals().bodies == len(set(used))
        assert self.store.check() == []

    @invariant()
    def same_fleet(self) -> None:
        fleet = self.store.fleet()
        there = sorted(n for n, page in self.pages.items() if page.state is not State.GONE)
        assert fleet.number.tolist() == there
        assert [fleet.hosts[host] for host in fleet.host] == [self.pages[n].host for n in there]
        for number, shape, time in zip(there, fleet.shape, fleet.time, strict=True):
            if number in self.beliefs:
                assert (shape, time) == self.beliefs[number]
            else:
                assert math.isnan(shape)
                assert math.isnan(time)


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
