"""The demo in virtual time: the same web and the same crawl, without processes or sockets."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Self

import pytest
from crawler.fakes import FakeWeb, crawl

from recrawl.config.settings import Settings
from recrawl.demo import run
from recrawl.demo.handler import Request, RequestHandler
from recrawl.demo.pages import PageRenderer
from recrawl.demo.scenario import Scenario
from recrawl.demo.sites import SITES
from recrawl.engine.stats import Stats
from recrawl.records import Response, Validators
from recrawl.store.sqlite import SqliteStore

#: When it begins, in Unix seconds.
START = 1_800_000_000.0


class VirtualWeb(FakeWeb):
    """The demo web, asked without HTTP."""

    def __init__(self, scenario: Scenario, created: float) -> None:
        super().__init__({})
        origins = [f"http://site{number}.test" for number in range(len(SITES))]
        renderer = PageRenderer(scenario.seed, scenario.pages, origins)
        self._sites = {origin: number for number, origin in enumerate(origins)}
        self._handler = RequestHandler(renderer, scenario.changes(), scenario.age.tolist(), created)
        self.begin = self._handler.begin
        self.urls = [renderer.url(page) for page in scenario.pages]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _answer(self, url: str, validators: Validators | None) -> Response:
        known, origin = validators or Validators(), "/".join(url.split("/")[:3])
        path = url.removeprefix(origin)
        request = Request(self._sites[origin], path, known.etag, known.last_modified)
        got = self._handler.respond(request, self.clock() / 1e6)
        return Response(
            url,
            got.status,
            self.clock(),
            headers=got.headers,
            body=got.body or None,
            transferred=len(got.body),
            seconds=0.01,
        )


def use_virtual_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `run_demo` run in virtual time."""
    now = START
    webs = list[VirtualWeb]()

    def make_web(scenario: Scenario, created: float) -> VirtualWeb:
        webs.append(VirtualWeb(scenario, created))
        return webs[-1]

    def run_crawl(
        settings: Settings,
        *,
        seconds: float,
        watch: Callable[[Stats], object] | None = None,
        beside: None = None,
    ) -> Stats:
        nonlocal now
        assert beside is None
        with SqliteStore.open(settings.store) as store:
            begin = round(now * 1e6)
            stats = crawl(webs[-1], store, settings, seconds=seconds, begin=begin, watch=watch)
        now = stats.now / 1e6
        return stats

    clock = SimpleNamespace(time=lambda: now, time_ns=lambda: round(now * 1e9))
    monkeypatch.setattr(run, "DemoWeb", make_web)
    monkeypatch.setattr(run, "run_crawl", run_crawl)
    monkeypatch.setattr(run, "time", clock)
