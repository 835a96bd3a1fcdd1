"""The story of a site that is crawled for months, played on a local server in a minute.

It writes what the program printed into docs/how-to/run-for-months.md.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.report import Figure, write_section
from benchmarks.sizes import sized

if TYPE_CHECKING:
    from site_server import Site

PAGE = "how-to/run-for-months.md"
TESTS = Path(__file__).parent.parent / "tests"
#: What the page calls the server; its port is as long as real ones, so that columns stay in line.
SHOWN = "http://localhost:48000"
SITEMAP = "/sitemap.xml"
NEWS, DOCS = 6, 6
#: Everything is quicker than in life: a second here is some hours there.
SETTINGS = """\
contact = "https://example.org/our-crawler"
budget = "5/s"
host_delay = "0s"
sitemap_interval = "2s"
allow_private = true
min_interval = "0s"
"""
OF_ITS_OWN = """
[host."HOST"]
delay = "200ms"
fingerprint = "main"
"""


@dataclass
class Story:
    """The site and its crawler's folder.

    Attributes:
        site: The site.
        folder: Where settings and store are.
        hidden: Pages that are away for now.
    """

    site: "Site"
    folder: Path
    hidden: dict[str, str] = field(default_factory=dict)

    def nothing(self) -> None:
        """Let nothing happen."""

    def open_site(self) -> None:
        """Serve the pages, and write the settings."""
        from site_server import page_about

        paths = [*(f"/news/{n}" for n in range(NEWS)), *(f"/docs/{n}" for n in range(DOCS))]
        for path in paths:
            self.site.pages[path] = page_about(f"This is {path}.", "It says what it says.")
        entries = "".join(f"<url><loc>{self.site.url}{path}</loc></url>" for path in paths)
        self.site.pages[SITEMAP] = f"<urlset>{entries}</urlset>"
        self._set(SETTINGS)

    def lose_news(self) -> None:
        """Take a folder away, as a deployment that went wrong does."""
        self._hide("/news/")

    def break_sitemap(self) -> None:
        """Lose the sitemap."""
        self._hide(SITEMAP)

    def recover(self) -> None:
        """Bring everything back that is away."""
        self.site.pages |= self.hidden
        self.hidden.clear()

    def redesign(self) -> None:
        """Mend the sitemap; all pages look different, and one is new."""
        self.recover()
        pages = self.site.pages
        for path in [path for path in pages if path != SITEMAP]:
            pages[path] = pages[path].replace("<h1>", "<nav>Home, News, Docs</nav><h1>")
        pages["/docs/new"] = pages["/docs/1"].replace("/docs/1", "/docs/new")
        entry = f"<url><loc>{self.site.url}/docs/new</loc></url></urlset>"
        pages[SITEMAP] = pages[SITEMAP].replace("</urlset>", entry)

    def set_site(self) -> None:
        """Write settings of its own for the site."""
        self._set(SETTINGS + OF_ITS_OWN.replace("HOST", self.site.url.partition("//")[2]))

    def _set(self, settings: str) -> None:
        (self.folder / "recrawl.toml").write_text(settings, "utf-8")

    def _hide(self, start: str) -> None:
        pages = self.site.pages
        self.hidden = {path: pages.pop(path) for path in list(pages) if path.startswith(start)}


@dataclass(frozen=True)
class Step:
    """A chapter: what happens, and then what is typed.

    Attributes:
        name: The section of the page.
        commands: What is typed after ``recrawl``; ``URL`` stands for the site.
        happens: Changes the site, or the settings.
    """

    name: str
    commands: tuple[str, ...]
    happens: Callable[[Story], None] = Story.nothing

    def typed(self) -> list[str]:
        """Return the commands as the page shows them."""
        return [f"$ recrawl {command.replace('URL', SHOWN)}" for command in self.commands]


STEPS = (
    Step(
        "story-start", ("add --sitemap URL/sitemap.xml", "run --for 5s", "status"), Story.open_site
    ),
    Step("story-outage", ("run --for 3s", "status"), Story.lose_news),
    Step("story-recovery", ("run --for 5s", "show URL/news/1"), Story.recover),
    Step("story-sitemap", ("run --for 3s", "status"), Story.break_sitemap),
    Step("story-redesign", ("run --for 5s", "show URL/docs/1"), Story.redesign),
    Step("story-budget", ("run --for 3s --budget 20/s", "status")),
    Step("story-removed", ("remove URL/docs/0", "run --for 5s", "show URL/docs/0")),
    Step("story-settings", ("run --for 3s", "status"), Story.set_site),
)


def play(step: Step, story: Story) -> str:
    """Let something happen, type the commands, and return what stands on the screen."""
    step.happens(story)
    url = story.site.url
    usual = {name: text for name, text in os.environ.items() if not name.startswith("RECRAWL_")}
    screen = []
    for typed, command in zip(step.typed(), step.commands, strict=True):
        done = subprocess.run(
            [sys.executable, "-m", "recrawl", *command.replace("URL", url).split()],
            cwd=story.folder,
            env=usual | {"COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        screen.append(f"{typed}\n{done.stdout.rstrip()}\n")
    host, shown = (one.partition("//")[2] for one in (url, SHOWN))
    return "\n".join(screen).replace(url, SHOWN).replace(host, shown)


def run() -> list[Figure]:
    """Play the story, and write it down."""
    sys.path.insert(0, str(TESTS))
    from site_server import Site, serving

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Site(etags=True)) as site,
        Console(stderr=True).status("playing the story of a site"),
    ):
        story = Story(site, Path(folder))
        screens = {step.name: play(step, story) for step in STEPS[: sized(None, 1)]}
    for name, screen in screens.items():
        write_section(PAGE, name, f"```text\n{screen}```")
    return [Figure("story: chapters", len(screens), len(STEPS), at_least=True)]
