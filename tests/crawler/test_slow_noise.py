"""What a site shows for days is no change of its pages, on the path that visits take."""

import pytest
from crawler.small_site import SmallSite, first_copies
from crawler.test_hiding import paragraphs, prose

from recrawl.records import ChangeKind, Outcome

PAGES = range(12)


class DailySite:
    """A site of which a test turns the days; its pages change when they are edited."""

    def __init__(self) -> None:
        self.day = 0
        self.edits = dict.fromkeys(PAGES, 0)
        self.site = SmallSite(self.write)
        first_copies(self.site, PAGES)

    def write(self, number: int) -> str:
        text = paragraphs(prose(number, self.edits[number], lines=5))
        lead = f"<h1>Page {number}</h1><p class=lead>{prose('lead', number)[0]}</p>"
        return f"<body><main>{self.around(number)}<article>{lead}{text}</article></main></body>"

    def around(self, number: int) -> str:
        raise NotImplementedError

    def false_changes(self, days: int) -> list[int]:
        """Return how many pages change on each day without an edit."""
        found = []
        for self.day in range(1, 1 + days):
            found.append(len(self.site.changed(PAGES)))
        return found

    def misses_nothing(self) -> bool:
        """Edit every page; return whether each edit is found."""
        for number in PAGES:
            self.edits[number] += 1
        return self.site.changed(PAGES) == list(PAGES)


def test_a_date_on_all_pages_is_the_sites() -> None:
    class Dated(DailySite):
        def around(self, number: int) -> str:
            del number
            return f"<p class=today>Monday, {2 + self.day} March 2026</p>"

    site = Dated()
    assert sum(site.false_changes(20)) == 0
    assert site.misses_nothing()


def test_a_weekly_box_with_other_links_on_every_page_is_the_sites_after_a_few() -> None:
    class Weekly(DailySite):
        def around(self, number: int) -> str:
            titles = [line[:30] for line in prose("box", number, self.day // 7, lines=4)]
            items = "".join(f"<li><a href='/{title[:8]}'>{title}</a></li>" for title in titles)
            return f"<div class=weekly><h2>Most read</h2><ul>{items}</ul></div>"

    site = Weekly()
    found = site.false_changes(30)
    assert 0 < sum(found) <= 4
    assert sum(found[7:]) == 0
    assert site.misses_nothing()


@pytest.mark.parametrize(
    "text", ["Sale: {}", " ".join(["Ferries are late, and so are trains."] * 3)]
)
def test_a_banner_that_comes_and_goes_is_the_sites_after_a_few(text: str) -> None:
    class Banner(DailySite):
        def around(self, number: int) -> str:
            del number
            shown = self.day % 7 in {3, 4}
            week = "one two three four five six".split()[self.day // 7]
            return f"<div class=notice><p>{week} {text}</p></div>" if shown else ""

    site = Banner()
    found = site.false_changes(40)
    assert 0 < sum(found) <= 3
    assert sum(found[4:]) == 0
    assert site.misses_nothing()


def test_a_box_of_one_page_that_changes_by_itself_is_its_own() -> None:
    class Own(DailySite):
        def around(self, number: int) -> str:
            edit = self.day if number == self.day % len(PAGES) else self.day - 1
            last = edit - (edit - number) % len(PAGES)
            titles = [line[:30] for line in prose("box", number, last, lines=4)]
            items = "".join(f"<li><a href='/{title[:8]}'>{title}</a></li>" for title in titles)
            return f"<div class=weekly><ul>{items}</ul></div>"

    site = Own()
    assert site.false_changes(36)[12:] == [1] * 24


def test_a_redesign_is_one_event_of_the_site() -> None:
    class Redesigned(DailySite):
        def around(self, number: int) -> str:
            del number
            tag = "section" if self.day > 5 else "div"
            items = "News Weather Tides" if self.day <= 5 else "Today Forecast Harbour Archive"
            menu = "".join(f"<{tag} class=m>{item}</{tag}>" for item in items.split())
            return f"{menu}<p class=d>{self.day} March</p>"

    site = Redesigned()
    found = site.false_changes(12)
    # The first pages that show it change, the others do not; and none of them twice.
    assert 0 < found[5] <= 4
    assert sum(found) == found[5]
    assert site.misses_nothing()


def test_furniture_is_told_in_the_log() -> None:
    class Menu(DailySite):
        def around(self, number: int) -> str:
            del number
            return f"<div class=m>Menu {'abc'[self.day]}</div>"

    site = Menu()
    site.day = 1
    found = site.site.visit(3)
    assert (found.outcome, found.change and found.change.kind) == (
        Outcome.UNCHANGED,
        ChangeKind.FURNITURE,
    )
    assert found.content is not None
