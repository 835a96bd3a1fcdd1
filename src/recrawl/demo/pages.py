"""The pages of the little web: where they are, how they live, and what they say in each version.

All of it follows from a seed. A page's content is a function of how often it has changed: each
change alters one block of it, a headline, a paragraph or a price.
"""

import html
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

from recrawl.demo.sites import SITES, Noise, Site
from recrawl.demo.writing import Lots, headline, paragraph, slug
from recrawl.errors import ArgumentError

#: Importance falls with popularity's rank to this power (Zipf).
ZIPF = 0.7
#: Paragraphs of a page, the fewest and the most.
PARAGRAPHS = (4, 8)
#: How many other pages of its site a page links to.
RELATED = 6
#: How many paragraphs and changes are remembered: most are those of the version before.
KEPT = 10_000
#: Stands around the name of a noise in a page's text, where nothing else has it.
MARK = "\0"
#: There are so many prices, and a change goes so many on: all have their turn before one returns.
PRICES, STEP = 1_009, 370


@dataclass(frozen=True, slots=True)
class LittlePage:
    """A page of the little web.

    Attributes:
        number: From 0, in the order of sites.
        site: The number of its site.
        path: Its address on its site.
        title: What it is called.
        importance: How popular it is; 1 on average.
        gap: Mean seconds between two changes.
        noise: What differs at every fetch.
    """

    number: int
    site: int
    path: str
    title: str
    importance: float
    gap: float
    noise: tuple[Noise, ...]


def little_pages(count: int, seed: int) -> tuple[LittlePage, ...]:
    """Draw the pages: the first of each site is its home page.

    >>> pages = little_pages(300, seed=1)
    >>> pages[0].path, pages[1].path
    ('/', '/local/more-than-3-600-people-march-through-oakhaven-1')
    """
    if count < len(SITES):
        raise ArgumentError(f"pages: {count} is too few; there are {len(SITES)} sites")
    before = accumulate((site.share for site in SITES[:-1]), initial=0.0)
    # Each site has its home page, and its share of the others.
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
    """Give popularity: home pages come first, the others in an order that is drawn."""
    lots = Lots(seed, "popularity")
    order = sorted(range(count), key=lambda number: (number not in homes, lots.share(), number))
    popularity = {number: (1.0 + rank) ** -ZIPF for rank, number in enumerate(order)}
    mean = sum(popularity.values()) / count
    return [popularity[number] / mean for number in range(count)]


def _draw(number: int, place: int, is_home: bool, importance: float, seed: int) -> LittlePage:  # noqa: FBT001
    lots = Lots(seed, number)
    site = SITES[place]
    title = headline(site.topic, lots, lots.number(len(site.topic.headlines)))
    folder = lots.choose(site.folders)
    spread = 0.0 if is_home else lots.share()
    gap = site.fastest * math.exp(spread * math.log(site.slowest / site.fastest))
    noise = lots.choose(site.noise) if lots.share() < site.noisy else ()
    path = "/" if is_home else f"/{folder}/{slug(title)}-{number}"
    return LittlePage(number, place, path, site.name if is_home else title, importance, gap, noise)


@dataclass(frozen=True)
class LittlePress:
    """Prints pages in any version.

    Attributes:
        seed: The same seed gives the same texts.
        pages: All there are.
        origins: Where each site is, such as ``http://127.0.0.2:8080``.
    """

    seed: int
    pages: Sequence[LittlePage]
    origins: Sequence[str]

    def address(self, page: LittlePage) -> str:
        """Give a page's address."""
        return self.origins[page.site] + page.path

    def print(self, page: LittlePage, version: int) -> list[bytes]:
        """Give a page as it is after so many changes: content and names of noises in turn."""
        text = "\n".join(
            [*self._head(page), *self._blocks(page, version), *self._around(page), "</html>", ""]
        )
        return [piece.encode() for piece in text.split(MARK)]

    def _head(self, page: LittlePage) -> list[str]:
        site = SITES[page.site]
        return [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f"<title>{html.escape(page.title)} – {html.escape(site.name)}</title>",
            '<meta name="viewport" content="width=device-width">\n</head>\n<body>',
            f'<header><a class="logo" href="/">{html.escape(site.name)}</a>',
            f"<nav><ul>{self._sections[page.site]}</ul></nav></header>\n<main>\n<article>",
        ]

    def _blocks(self, page: LittlePage, version: int) -> list[str]:
        """Write the blocks, each as often altered as the changes so far say."""
        site, lots = SITES[page.site], Lots(self.seed, page.number, "form")
        fewest, most = PARAGRAPHS
        count = fewest + lots.number(most - fewest + 1)
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

    def _lead(self, page: LittlePage, site: Site, revision: int) -> str:
        lots = Lots(self.seed, page.number, "lead", revision)
        title = headline(site.topic, lots, page.number + revision)
        summary = paragraph(site.topic, lots, page.number + revision, 2)
        return f'<h1>{title}</h1>\n<p class="summary">{summary}</p>'

    def _price(self, page: LittlePage, revision: int) -> str:
        first = Lots(self.seed, page.number, "price").number(PRICES)
        cents = 500 + 10 * ((first + STEP * revision) % PRICES)
        return f'<p class="price">Price: <b>€{cents // 100}.{cents % 100:02}</b>, tax included</p>'

    def _around(self, page: LittlePage) -> list[str]:
        """Write what stands around the content: links to other pages, and noise."""
        site, siblings = page.site, self._of_site[page.site]
        place = page.number - siblings[0].number
        # A home page leads to all of its site.
        several = len(siblings) - 1 if place == 0 else min(RELATED, len(siblings) - 1)
        related = [siblings[(place + 1 + n) % len(siblings)] for n in range(several)]
        links = [(other.path, other.title) for other in related]
        elsewhere = (site + 1 + page.number) % len(SITES)
        links.append((self.origins[elsewhere] + "/", SITES[elsewhere].name))
        forbidden = SITES[site].forbidden
        if forbidden:
            links.append((f"{forbidden}unfinished", "Drafts"))
        items = "".join(f'<li><a href="{to}">{html.escape(said)}</a></li>' for to, said in links)
        noise = [f"{MARK}{kind}{MARK}" for kind in page.noise]
        return [
            f'</article>\n<aside><h2>Read on</h2><ul class="related">{items}</ul></aside>\n</main>',
            "<footer>",
            *noise,
            f"<p>{html.escape(SITES[site].name)}, made with care.</p></footer>\n</body>",
        ]

    @cached_property
    def _of_site(self) -> list[list[LittlePage]]:
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


@lru_cache(maxsize=KEPT)
def _paragraph(seed: int, page: LittlePage, block: int, revision: int) -> str:
    lots = Lots(seed, page.number, block, revision)
    return f"<p>{paragraph(SITES[page.site].topic, lots, page.number + block + revision, 4)}</p>"


@lru_cache(maxsize=KEPT)
def _altered(seed: int, page: int, change: int, likely: tuple[int, ...]) -> int:
    """Give the block that a change alters."""
    return Lots(seed, page, "change", change).choose(likely)
