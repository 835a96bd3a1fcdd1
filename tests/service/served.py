"""A service without threads and sockets: requests go straight to the application."""

import json
from collections.abc import AsyncIterator, Iterable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from crawler.fakes import VirtualExecutor
from virtual_time import clock as virtual_clock

from recrawl.clock import Clock
from recrawl.config.settings import Settings
from recrawl.config.sources import load_settings
from recrawl.crawler.build import load
from recrawl.engine.engine import Engine
from recrawl.engine.frontier import CrawlFrontier
from recrawl.engine.lending import Lending
from recrawl.hosts import host_of
from recrawl.http.access import NO_ACCESS
from recrawl.records import Response, Validators
from recrawl.service.api.app import create_app
from recrawl.service.auth.tokens import Access, add_token
from recrawl.service.push.indexnow import MAX_KEY_BYTES, FetchFile
from recrawl.service.service import Service
from recrawl.service.serving import open_engine, open_service
from recrawl.store.rows import NewPage
from recrawl.store.sqlite import SqliteStore

API = "/api/v1"


@dataclass(frozen=True)
class Answered:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - as JSON has it
        return json.loads(self.body)


@dataclass
class Served:
    """A service and its application.

    Attributes:
        service: The service.
        engine: What is behind it.
        lending: What lends its pages.
        app: The application.
        tokens: A token for each kind of access, by name.
        store: The store.
    """

    service: Service
    engine: Engine
    lending: Lending
    app: Any
    store: SqliteStore
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def frontier(self) -> CrawlFrontier:
        """The frontier."""
        return self.service.frontier

    async def run(self) -> None:
        """Do periodic work until the engine is stopped."""
        async with self.lending.running():
            await self.engine.run()

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,  # noqa: ANN401 - as JSON has it
        *,
        token: str | None = "admin",  # noqa: S107 - the name of one
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
        address: str = "127.0.0.1",
        **query: Any,  # noqa: ANN401
    ) -> Answered:
        """Make a request; a token is named by its access, or given."""
        sent = {"host": "127.0.0.1:8321"} | (headers or {})
        if token is not None:
            sent |= {"authorization": f"Bearer {self.tokens.get(token, token)}"}
        data = raw
        if data is None and body is not None:
            data = json.dumps(body).encode()
            sent |= {"content-type": "application/json"}
        asked = urlencode(query, doseq=True)
        return await asgi(self.app, method, path, sent, data or b"", asked, address)

    async def api(self, method: str, path: str, body: Any = None, **query: Any) -> Any:  # noqa: ANN401
        """Make a request that must succeed; return what is in the response."""
        answered = await self.ask(method, API + path, body, **query)
        assert answered.status == 200, answered.body
        return answered.json


async def asgi(
    app: Any,  # noqa: ANN401 - ASGI has no types of its own
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes,
    query: str,
    address: str = "127.0.0.1",
) -> Answered:
    """Make a request to an ASGI application."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        "client": (address, 50_000),
        "server": ("127.0.0.1", 8321),
    }
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return Answered(sent[0]["status"], found, content)


def settings_in(folder: Path, **settings: str) -> Settings:
    # Pages that have just been visited may be leased again.
    often = {"min_interval": "0s", "spend": "all"}
    given = {"store": str(folder / "recrawl.db"), "parse_processes": "1", **often, **settings}
    return load_settings(given, environ={}, file="/dev/null")


def fill(store: SqliteStore, urls: Iterable[str], at: int = 0) -> None:
    store.add([NewPage(url, host_of(url)) for url in urls], at)


@dataclass(frozen=True)
class _OnlyKeys:
    """Fetches files with keys, and nothing else."""

    fetch_key: FetchFile

    async def fetch_file(
        self,
        url: str,
        max_bytes: int,
        validators: Validators | None = None,
        *,
        stay_on_site: bool = False,
    ) -> Response:
        assert (max_bytes, validators, stay_on_site) == (MAX_KEY_BYTES, None, True)
        return await self.fetch_key(url)

    async def named_sitemaps(self, url: str) -> tuple[str, ...] | None:
        raise NotImplementedError(url)


@asynccontextmanager
async def served(
    settings: Settings,
    urls: Iterable[str] = (),
    clock: Clock | None = None,
    fetch_key: FetchFile | None = None,
    reading: Executor | None = None,
) -> AsyncIterator[Served]:
    """Serve a store in virtual time, with a token for each kind of access."""
    clock = clock or virtual_clock()
    executor = VirtualExecutor({})
    with SqliteStore.open(settings.store, create=True) as store, store.lock():
        fill(store, urls)
        tokens = {}
        known = {token.name for token in store.service.tokens()}
        for access in Access:
            name = access.name.lower()
            if name in known:
                store.service.revoke_token(name)
            tokens[name] = add_token(store.service, name, access, 0)
        frontier = load(store, settings, clock.now())
        async with (
            open_engine(
                frontier, store, settings, clock, lambda _url: NO_ACCESS, executor
            ) as parts,
            open_service(
                settings,
                clock,
                parts if fetch_key is None else replace(parts, fetcher=_OnlyKeys(fetch_key)),
                reading or executor,
            ) as service,
        ):
            yield Served(service, parts.engine, parts.lending, create_app(service), store, tokens)
