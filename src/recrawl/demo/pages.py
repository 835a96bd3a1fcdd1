"""The pages of the demo web: their paths, change rates, and content in each version.

Everything follows from a seed. A page's content is a function of its number of changes: each change
alters one block of it, a headline, a paragraph or a price. The site's boilerplate around it is a
function of the day.
"""

import html
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from recrawl.demo import slow_noise
from recrawl.demo.sites import SITES, Noise, Site
from recrawl.demo.text import KeyedRandom, headline, paragraph, slug
from recrawl.errors import ArgumentError

#: Importance is the popularity rank to minus this power (Zipf).
ZIPF = 0.7
#: Minimum and maximum paragraphs per page.
PARAGRAPHS = (4, 8)
#: Links to other pages of the site per page.
RELATED = 6
#: Cached paragraphs and changes: most are the same as in the previous version.
CACHED = 10_000
#: Delimits the name of a noise in a page's text, where it does not occur otherwise.
MARK = "\0"
#: The number of prices, and the step of a change: coprime, so that all occur before one repeats.
PRICES, STEP = 1_009, 370


@dataclass(frozen=True, slots=True)
class DemoPage:
    """A page of the demo web.

    Attributes:
        number: From 0, in the order of sites.
        site: The number of its site.
        path: Its path on the site.
        title: Its title.
        importance: Its popularity; 1 on average.
        gap: Mean seconds between changes.
        noise: What differs at every fetch.
    """

    number: int
    site: int
    path: str
    title: str
    importance: float
    gap: float
    noise: tuple[Noise, ...]


def draw_pages(count: int, seed: int) -> tuple[DemoPage, ...]:
    """Draw the pages; the first of each site is its home page.

    >>> pages = draw_pages(300, seed=1)
    >>> pages[0].path, pages[1].path
    ('/', '/local/more-than-3-600-people-march-through-oakhaven-1')
    """
    if count < len(SITES):
        raise ArgumentError(f"pages: {count} is too few; there are {len(SITES)} sites")
    before = accumulate((site.share for site in SITES[:-1]), initial=0.0)
    # Each site has a home page, and its share of the others.
    starts = [number + round((count - len(SITES)) * share) for number, share in enumerate(before)]
    homes = dict(zip(starts, range(len(SITES)), strict=True))
    importance = _importances(count, starts, seed)
    pages = []
    site = 0
    for number in range(count):
        site = homes.get(number, site)
        pages.append(_draw(number, site, number in homes, importance[number], seed))
    return tuple(pages)


def _importances(count: int, homes: Sequence[int], seed: int) -> list[float]:
    """Return the popularity of pages: home pages first, the others in random order."""
    rng = KeyedRandom(seed, "popularity")
    order = sorted(range(count), key=lambda number: (number not in homes, rng.uniform(), number))
    popularity = {number: (1.0 + rank) ** -ZIPF for rank, number in enumerate(order)}
    mean = sum(popularity.values()) / count
    return [popularity[number] / mean for number in range(count)]


def _draw(number: int, site_number: int, is_home: bool, importance: float, seed: int) -> DemoPage:  # noqa: FBT001
    rng = KeyedRandom(seed, number)
    site = SITES[site_number]
    title = headline(site.topic, rng, rng.integer(len(site.topic.headlines)))
    folder = rng.choose(site.folders)
    spread = 0.0 if is_home else rng.uniform()
    gap = site.fastest * math.exp(spread * math.log(site.slowest / site.fastest))
    noise = rng.choose(site.noise) if rng.uniform() < site.noisy else ()
    path = "/" if is_home else f"/{folder}/{slug(title)}-{number}"
    return DemoPage(
        number, site_number, path, site.name if is_home else title, importance, gap, noise
    )


@dataclass(frozen=True)
class PageRenderer:
    """Renders pages in any version.

    Attributes:
        seed: The seed of all texts.
        pages: All pages.
        origins: Each site's origin, such as ``http://127.0.0.2:8080``.
    """

    seed: int
    pages: Sequence[DemoPage]
    origins: Sequence[str]

    def url(self, page: DemoPage) -> str:
        """Return a page's URL."""
        return self.origins[page.site] + page.path

    def render(self, page: DemoPage, version: int, day: int = 0) -> list[bytes]:
        """Return a page's version on a day: content and names of noises, alternating."""
        head, blocks = self._head(page, day), self._blocks(page, version)
        text = "\n".join([*head, *blocks, *self._around(page, day), "</html>", ""])
        return [piece.encode() for piece in text.split(MARK)]

    def _head(self, page: DemoPage, day: int) -> list[str]:
        site = SITES[page.site]
        return [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f"<title>{html.escape(page.title)} – {html.escape(site.name)}</title>",
            '<meta name="viewport" content="width=device-width">\n</head>\n<body>',
            slow_noise.banner(site, day),
            f'<header><a class="logo" href="/">{html.escape(site.name)}</a>',
            f"<nav><ul>{self._sections[page.site]}</ul></nav></header>\n<main>",
            slow_noise.date(site, day),
            "<article>",
        ]

    def _blocks(self, page: DemoPage, version: int) -> list[str]:
        """Return the blocks, each revised as often as the changes so far require."""
        site, rng = SITES[page.site], KeyedRandom(self.seed, page.number, "form")
        fewest, most = PARAGRAPHS
        count = fewest + rng.integer(most - fewest + 1)
        # The lead, and a price, change more often than any one paragraph.
        likely = (0, 0, *range(1, 1 + count), *([-1] * count if site.priced else []))
        revision = Counter(
            _altered(self.seed, page.number, number, likely) for number in range(1, version + 1)
        )
        blocks = [self._lead(page, site, revision[0])]
        if site.priced:
            blocks.append(self._price(page, revision[-1]))
        blocks += [_paragraph(self.seed, page, n, revision[n]) for n in range(1, 1 + count)]
        return blocks

    def _lead(self, page: DemoPage, site: Site, revision: int) -> str:
        rng = KeyedRandom(self.seed, page.number, "lead", revision)
        title = headline(site.topic, rng, page.number + revision)
        summary = paragraph(site.topic, rng, page.number + revision, 2)
        return f'<h1>{title}</h1>\n<p class="summary">{summary}</p>'

    def _price(self, page: DemoPage, revision: int) -> str:
        first = KeyedRandom(self.seed, page.number, "price").integer(PRICES)
        cents = 500 + 10 * ((first + STEP * revision) % PRICES)
        return f'<p class="price">Price: <b>€{cents // 100}.{cents % 100:02}</b>, tax included</p>'

    def _around(self, page: DemoPage, day: int) -> list[str]:
        """Return what surrounds the content: links to other pages, and noise."""
        site, siblings = page.site, self._of_site[page.site]
        index = page.number - siblings[0].number
        # A home page links to all pages of its site.
        count = len(siblings) - 1 if index == 0 else min(RELATED, len(siblings) - 1)
        related = [siblings[(index + 1 + n) % len(siblings)] for n in range(count)]
        links = [(other.path, other.title) for other in related]
        elsewhere = (site + 1 + page.number) % len(SITES)
        links.append((self.origins[elsewhere] + "/", SITES[elsewhere].name))
        forbidden = SITES[site].forbidden
        if forbidden:
            links.append((f"{forbidden}unfinished", "Drafts"))
        items = "".join(f'<li><a href="{to}">{html.escape(label)}</a></li>' for to, label in links)
        noise = [f"{MARK}{kind}{MARK}" for kind in page.noise]
        others = [(to.path, html.escape(to.title)) for to in siblings if to.number != page.number]
        return [
            slow_noise.box(SITES[site], others, page.number, day, self.seed),
            f'</article>\n<aside><h2>Read on</h2><ul class="related">{items}</ul></aside>\n</main>',
            "<footer>",
            *noise,
            f"<p>{html.escape(SITES[site].name)}, made with care.</p></footer>\n</body>",
        ]

    @cached_property
    def _of_site(self) -> list[list[DemoPage]]:
        """The pages of each site, its home page first."""
        return [[page for page in self.pages if page.site == site] for site in range(len(SITES))]

    @cached_property
    def _sections(self) -> list[str]:
        """Each site's links to its folders."""
        return [
            "".join(
                f'<li><a href="{newest.path}">{folder.title()}</a></li>'
                for folder in site.folders
                for newest in [page for page in pages if page.path.startswith(f"/{folder}/")][:1]
            )
            for site, pages in zip(SITES, self._of_site, strict=True)
        ]


@lru_cache(maxsize=CACHED)
def _paragraph(seed: int, page: DemoPage, block: int, revision: int) -> str:
    rng = KeyedRandom(seed, page.number, block, revision)
    return f"<p>{paragraph(SITES[page.site].topic, rng, page.number + block + revision, 4)}</p>"


@lru_cache(maxsize=CACHED)
def _altered(seed: int, page: int, change: int, likely: tuple[int, ...]) -> int:
    """Return the block that a change alters."""
    return KeyedRandom(seed, page, "change", change).choose(likely)
