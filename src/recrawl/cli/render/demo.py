"""The demo shown live on a terminal, and its result."""

import math

from rich.console import Group, RenderableType
from rich.text import Text

from recrawl.cli.render.numbers import count, percent
from recrawl.cli.render.terminal import Table
from recrawl.demo.ground_truth import ENOUGH_VISITS, Curve
from recrawl.demo.run import DemoResult, Snapshot
from recrawl.records import Outcome

BARS = "▁▂▃▄▅▆▇█"
#: The freshness of the lowest bar; lower values look the same.
LOWEST = 0.5
#: Width of a curve in characters.
WIDTH = 40
#: Styles that are legible on dark and light terminals.
STYLES = {"recrawl": "bold cyan", "uniform": "yellow", "best possible": "green"}


def picture(sight: Snapshot) -> RenderableType:
    """Return the live view."""
    view = sight.stats
    title = Text.assemble(
        (f"Keeping {count(view.pages, 'page')} of a small web fresh. ", "bold"),
        f"Second {sight.seconds:.0f} of {sight.duration:.0f}; Ctrl-C to stop.",
    )
    expected = percent(view.expected_freshness or 0.0)
    believed = Text(
        f"recrawl does not know the truth; it expects {expected} now.",
        style="dim",
    )
    return Group(title, Text(), curves(sight), Text(), _counts(sight), Text(), believed)


def curves(sight: Snapshot) -> Table:
    """Return curves of the true freshness of all three policies, with the mean so far."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("true freshness over time", width=WIDTH, no_wrap=True)
    table.add_column("mean", justify="right", no_wrap=True)
    for name, curve in rivals(sight).items():
        mean = percent(curve.mean(0.0, sight.seconds))
        table.add_row(
            name, sparkline(curve, sight.seconds, sight.duration), mean, style=STYLES[name]
        )
    return table


def rivals(sight: Snapshot) -> dict[str, Curve]:
    """Return the curves by name."""
    return {"recrawl": sight.ours, "uniform": sight.uniform, "best possible": sight.best}


def sparkline(curve: Curve, until: float, in_all: float) -> str:
    """Draw a curve in characters, up to now.

    >>> import numpy as np
    >>> sparkline(Curve(20.0, np.array([1.0, 0.75, 0.4, 0.9])), 10.0, 20.0)
    '██████████▅▅▅▅▅▅▅▅▅▅'
    """
    columns = math.floor(WIDTH * until / in_all + 1e-9)
    step = in_all / WIDTH
    means = [curve.mean(step * column, step * (column + 1)) for column in range(columns)]
    shares = [(mean - LOWEST) / (1.0 - LOWEST) for mean in means]
    return "".join(BARS[min(max(int(share * len(BARS)), 0), len(BARS) - 1)] for share in shares)


def _counts(sight: Snapshot) -> Table:
    view = sight.stats
    found = view.outcomes
    cells = {
        "fetched": view.visits,
        "changed": found[Outcome.CHANGED],
        "unchanged": found[Outcome.UNCHANGED],
        "not modified": view.not_modified,
        "failed": found[Outcome.FAILED],
        "requests": view.requests,
    }
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in cells:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(*(f"{number:,}" for number in cells.values()))
    return table


def results(sight: Snapshot) -> Table:
    """Return the final table."""
    table = Table()
    table.add_column("policy")
    for heading in ("true freshness", "second half", "requests"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, curve in rivals(sight).items():
        whole = percent(curve.mean(0.0, sight.seconds))
        half = percent(curve.mean(sight.seconds / 2, sight.seconds))
        table.add_row(name, whole, half, f"{sight.stats.requests:,}")
    return table


def findings(played: DemoResult) -> str:
    """Summarise the visits, what was learned, and how well noise was told from changes."""
    view, seconds = played.final.stats, played.final.seconds
    found, truth = view.outcomes, played.verdicts
    late = int(truth.is_false[truth.time > seconds / 2].sum())
    return (
        f"{count(view.visits, 'visit')} in {seconds:.0f} s: {found[Outcome.CHANGED]:,} changed, "
        f"{found[Outcome.UNCHANGED]:,} unchanged ({view.not_modified:,} not modified), "
        f"{found[Outcome.FAILED]:,} failed.\n"
        f"{_learned(played)}\n"
        f"Noise (clocks, adverts, dates, boxes, banners) was taken for a change in\n"
        f"{truth.is_false.sum():,} of {count(int(truth.is_unchanged.sum()), 'visit')} to unchanged "
        f"pages, {late:,} of them in the second half.\n"
        f"{truth.is_missed.sum():,} of {count(int(truth.is_changed.sum()), 'visit')} to changed "
        "pages missed the change."
    )


def _learned(played: DemoResult) -> str:
    if math.isnan(played.correlation):
        return f"Too few pages were visited {ENOUGH_VISITS} times to compare change rates."
    return (
        f"Change rates of the {count(played.often, 'page')} visited {ENOUGH_VISITS} times or more: "
        f"rank correlation {played.correlation:.2f}."
    )
