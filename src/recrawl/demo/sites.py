"""The five sites of the demo web: their size, rates of change, validators and noise."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from recrawl.demo.vocabulary import BLOG, DOCS, NEWS, SHOP, WIKI, Topic


class Validation(Enum):
    """The validators that a site sends."""

    NONE = "nothing"
    TAG_AND_DATE = "ETag and Last-Modified"
    DATE = "Last-Modified"
    #: A new one at every fetch, as from servers that hash generated markup: useless.
    NEW_TAG = "ETag, always new"


class Noise(StrEnum):
    """What differs on some pages at every fetch, but is not a change."""

    CLOCK = "clock"
    TOKEN = "token"  # noqa: S105
    TIMING = "timing"
    ADVERT = "advert"


class Slow(StrEnum):
    """What differs from day to day on all pages of a site, but is not a change."""

    #: Today's date.
    DATE = "date"
    #: Links to other pages, different on every page and new every week.
    BOX = "box"
    #: A notice on all pages that comes and goes.
    BANNER = "banner"


@dataclass(frozen=True, slots=True)
class Site:
    """The properties of a site.

    Attributes:
        name: The heading of its pages.
        topic: Their subject.
        share: Its share of all pages.
        fastest: Mean seconds between changes of its fastest page, the home page.
        slowest: The maximum of that over its pages.
        folders: The first path segments of its pages.
        validation: The validators it sends.
        noise: What may differ at every fetch; each noisy page has one of these.
        noisy: The share of its pages that have noise.
        slow: What differs from day to day on all of its pages.
        box_title: The heading of the box of links.
        banners: The texts of its banner, shown in turn.
        priced: Whether its pages show a price.
        sitemap: Whether it has a sitemap.
        forbidden: A folder disallowed by its robots.txt.
        crawl_delay: The Crawl-delay of its robots.txt in seconds.
    """

    name: str
    topic: Topic
    share: float
    fastest: float
    slowest: float
    folders: tuple[str, ...]
    validation: Validation
    noise: tuple[tuple[Noise, ...], ...] = ()
    noisy: float = 0.0
    slow: tuple[Slow, ...] = ()
    box_title: str = ""
    banners: tuple[str, ...] = ()
    priced: bool = False
    sitemap: bool = False
    forbidden: str | None = None
    crawl_delay: float | None = None


SITES = (
    Site(
        name="The Harbour Post",
        topic=NEWS,
        share=0.25,
        fastest=2.0,
        slowest=30.0,
        folders=("local", "world", "sport", "weather"),
        validation=Validation.NONE,
        noise=((Noise.CLOCK,), (Noise.ADVERT,), (Noise.CLOCK, Noise.ADVERT)),
        noisy=0.6,
        slow=(Slow.DATE, Slow.BOX, Slow.BANNER),
        box_title="Most read this week",
        banners=("Storm warning for the coast", "Ferries are late today", "Elections: live"),
    ),
    Site(
        name="Slow Evenings",
        topic=BLOG,
        share=0.15,
        fastest=10.0,
        slowest=240.0,
        folders=("2023", "2024", "2025"),
        validation=Validation.TAG_AND_DATE,
        noise=((Noise.TIMING,),),
        noisy=0.1,
        slow=(Slow.BOX,),
        box_title="From the archive",
        sitemap=True,
    ),
    Site(
        name="Handbook",
        topic=DOCS,
        share=0.2,
        fastest=60.0,
        slowest=1200.0,
        folders=("guide", "reference", "faq"),
        validation=Validation.DATE,
        slow=(Slow.BANNER,),
        banners=(
            "This site will be read-only on Saturday morning while we move it to another server.",
            "A survey of our readers is open until Friday: tell us which chapter you missed most.",
        ),
    ),
    Site(
        name="Oak & Iron",
        topic=SHOP,
        share=0.25,
        fastest=4.0,
        slowest=120.0,
        folders=("study", "kitchen", "garden"),
        validation=Validation.NEW_TAG,
        noise=((Noise.TOKEN,), (Noise.TOKEN, Noise.TIMING)),
        noisy=0.6,
        slow=(Slow.BOX, Slow.BANNER),
        box_title="Goes well with",
        banners=(
            "Free delivery this weekend on all orders above fifty euros, to every address we know.",
            "Our workshop is closed for the holidays; orders placed now are sent the week after.",
        ),
        priced=True,
    ),
    Site(
        name="Coastal Encyclopedia",
        topic=WIKI,
        share=0.15,
        fastest=240.0,
        slowest=1200.0,
        folders=("places", "nature", "crafts"),
        validation=Validation.TAG_AND_DATE,
        noise=((Noise.TIMING,),),
        noisy=0.2,
        forbidden="/drafts/",
        crawl_delay=0.05,
    ),
)
