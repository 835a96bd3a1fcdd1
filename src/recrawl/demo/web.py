"""A little web on this machine: real servers in a process of their own."""

import json
import subprocess
import sys
from types import TracebackType
from typing import IO, Self

from recrawl.demo.history import History
from recrawl.demo.sites import SITES
from recrawl.errors import RecrawlError

#: Seconds that its process may take to end.
PATIENCE = 5.0


class LittleWeb:
    """The little web, for as long as the ``with`` block lasts.

    Args:
        history: What will happen to its pages.
        made: The time in Unix seconds before which they changed last.

    Attributes:
        origins: Where each site is.

    It is served by a process of its own, lest it slow down the crawl. Pages stay as they are until
    `begin`.
    """

    def __init__(self, history: History, made: float) -> None:
        self._history = history
        self._made = made
        self.origins: list[str] = []

    @property
    def urls(self) -> list[str]:
        """The pages' addresses, in order of their numbers."""
        return [self.origins[page.site] + page.path for page in self._history.pages]

    @property
    def sitemaps(self) -> list[str]:
        """The addresses of sitemaps."""
        pairs = zip(self.origins, SITES, strict=True)
        return [f"{origin}/sitemap.xml" for origin, site in pairs if site.sitemap]

    def __enter__(self) -> Self:
        # In a session of its own, lest Ctrl-C on the terminal end it before the crawl has ended.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "recrawl.demo.serving"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        history = self._history
        setup = {
            "seed": history.seed,
            "pages": len(history.pages),
            "changes": history.changes(),
            "ages": history.age.tolist(),
            "made": self._made,
        }
        self._say(json.dumps(setup))
        said = _open(self._process.stdout).readline()
        if not said:
            self._end()
            raise RecrawlError("the little web could not start; what its process said stands above")
        self.origins = json.loads(said)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def begin(self, at: float) -> None:
        """Let pages live from this time on, in Unix seconds."""
        self._say(repr(at))

    def _say(self, line: str) -> None:
        pipe = _open(self._process.stdin)
        try:
            pipe.write(line + "\n")
            pipe.flush()
        except BrokenPipeError:
            raise RecrawlError("the little web has ended before its time") from None

    def _end(self) -> None:
        """End the process: it ends when nobody can speak to it any more."""
        try:
            self._process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def _open(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RecrawlError("the little web has no pipe to speak through")
    return pipe
