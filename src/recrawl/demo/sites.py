"""The five sites of the little web: how large, how lively and how well-mannered each one is."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from recrawl.demo.words import BLOG, DOCS, NEWS, SHOP, WIKI, Topic


class Validation(Enum):
    """What a site sends to recognise a version by."""

    NONE = "nothing"
    TAG_AND_DATE = "ETag and Last-Modified"
    DATE = "Last-Modified"
    #: A new one at every fetch, as servers send that hash what they generate: never any use.
    NEW_TAG = "ETag, always another"


class Noise(StrEnum):
    """What differs on some pages whenever they are fetched, and means nothing."""

    CLOCK = "clock"
    TOKEN = "token"  # noqa: S105
    TIMING = "timing"
    ADVERT = "advert"


@dataclass(frozen=True, slots=True)
class Site:
    """A site.

    Attributes:
        name: What its pages say at the top.
        topic: What they are about.
        share: The share of all pages that are its own.
        fastest: Mean seconds between two changes of its liveliest page, which is the first one.
        slowest: And of the quietest one there can be.
        folders: What the addresses of its pages begin with.
        validation: What it sends to recognise a version by.
        noise: What differs at every fetch: each noisy page has one of these.
        noisy: The share of its pages that have any.
        priced: Whether its pages tell a price.
        sitemap: Whether it has one.
        forbidden: A folder that its robots.txt asks to leave alone.
        crawl_delay: Seconds that its robots.txt asks for between two visits.
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
    ),
    Site(
        name="Oak & Iron",
        topic=SHOP,
        share=0.25,
        fastest=4.0,
        slowest=120.0,
        folders=("desk", "kitchen", "garden"),
        validation=Validation.NEW_TAG,
        noise=((Noise.TOKEN,), (Noise.TOKEN, Noise.TIMING)),
        noisy=0.6,
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
