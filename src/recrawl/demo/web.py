"""The demo web: real HTTP servers in a separate process."""

import json
import subprocess
import sys
from typing import IO, Self

from recrawl.demo.scenario import Scenario
from recrawl.demo.sites import SITES
from recrawl.errors import RecrawlError

#: Seconds that the process may take to exit.
EXIT_TIMEOUT = 5.0


class DemoWeb:
    """The demo web, served for as long as the ``with`` block lasts.

    Args:
        scenario: Its pages and their changes.
        created: Unix seconds; each page's latest change was before this time.

    Attributes:
        origins: Each site's origin.

    A separate process serves it so as not to slow down the crawl. Pages do not change before
    `begin`.
    """

    def __init__(self, scenario: Scenario, created: float) -> None:
        self._scenario = scenario
        self._created = created
        self.origins: list[str] = []

    @property
    def urls(self) -> list[str]:
        """The pages' URLs, in order of their numbers."""
        return [self.origins[page.site] + page.path for page in self._scenario.pages]

    @property
    def sitemaps(self) -> list[str]:
        """The URLs of the sitemaps."""
        pairs = zip(self.origins, SITES, strict=True)
        return [f"{origin}/sitemap.xml" for origin, site in pairs if site.sitemap]

    def __enter__(self) -> Self:
        # In a new session, so that Ctrl-C on the terminal does not end it before the crawl.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "recrawl.demo.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        scenario = self._scenario
        setup = {
            "seed": scenario.seed,
            "pages": len(scenario.pages),
            "changes": scenario.changes(),
            "ages": scenario.age.tolist(),
            "created": self._created,
        }
        self._send(json.dumps(setup))
        origins = _open(self._process.stdout).readline()
        if not origins:
            self._end()
            raise RecrawlError("the demo web could not start; its process printed why above")
        self.origins = json.loads(origins)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def begin(self, at: float) -> None:
        """Let pages change from this time on, in Unix seconds."""
        self._send(repr(at))

    def _send(self, line: str) -> None:
        pipe = _open(self._process.stdin)
        try:
            pipe.write(line + "\n")
            pipe.flush()
        except BrokenPipeError:
            raise RecrawlError("the demo web has ended unexpectedly") from None

    def _end(self) -> None:
        """Close the pipes, at which the process exits; kill it if it does not."""
        try:
            self._process.communicate(timeout=EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def _open(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RecrawlError("the demo web has no pipe")
    return pipe
