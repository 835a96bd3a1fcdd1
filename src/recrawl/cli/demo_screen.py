"""The demo's picture: true rates, estimates and errors in the characters of a terminal."""

import math
from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from recrawl.cli.demo_pages import PAGES, Frame
from recrawl.units import format_duration

#: The scale that estimates are drawn on, in changes a day, and the marks above it.
SCALE = (1 / 700, 120.0)
MARKS = {"year": 1 / 365, "month": 1 / 30, "day": 1.0, "hour": 24.0}
NARROWEST_SCALE, WIDEST_SCALE = 12, 60
#: The width of names and of times, and the space between columns.
NAME, TIME, GAP = 17, 6, 1
BEFORE_SCALE = NAME + TIME + 2 * GAP
OTHER_COLUMNS = NAME + 5 * TIME + 6 * GAP
#: Errors that fill the sparkline and leave it empty.
WORST, BEST = 1.0, 0.02
BARS = "▁▂▃▄▅▆▇█"
#: Styles that can be read on dark and on light terminals.
TRUTH, INTERVAL, ESTIMATE, BOTH = "bold", "cyan", "bold cyan", "bold green"


def picture(history: Sequence[Frame], width: int) -> Group:
    """Draw the last frame, and how the errors came down to it."""
    frame = history[-1]
    title = Text.assemble(
        (f"How often do these {len(PAGES)} pages change? ", "bold"),
        "Every visit tells one bit: changed, or not.\n",
        (f"Day {frame.day:,.0f}, {frame.visits.sum():,} visits. ", "bold cyan"),
        ("Below: the mean time between changes.", "dim"),
    )
    key = Text.assemble(
        *(" " * BEFORE_SCALE, ("│ ", TRUTH), ("truth   ", "dim")),
        *(
            ("━", INTERVAL),
            ("●", ESTIMATE),
            ("━ ", INTERVAL),
            ("Gamma and 95 % interval   ", "dim"),
        ),
        *(("● ", BOTH), ("on the truth", "dim")),
    )
    scale = max(NARROWEST_SCALE, min(WIDEST_SCALE, width - OTHER_COLUMNS))
    return Group(title, _table(frame, scale), key, *_errors(history, scale))


def _table(frame: Frame, scale: int) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("page", width=NAME, no_wrap=True)
    table.add_column("truth", justify="right", width=TIME, style=TRUTH)
    table.add_column(_marks(scale), width=scale, no_wrap=True)
    table.add_column("Gamma", justify="right", width=TIME, style=ESTIMATE)
    table.add_column("LLN", justify="right", width=TIME)
    table.add_column("MLE", justify="right", width=TIME)
    table.add_column("visits", justify="right", width=TIME, style="dim")
    for page, (name, true) in enumerate(PAGES.items()):
        rates = [float(rate[page]) for rate in frame.rates.values()]
        bar = _bar(true, rates[0], (float(frame.low[page]), float(frame.high[page])), scale)
        visits = f"{frame.visits[page]:,}"
        table.add_row(name, every(true), bar, *(every(rate) for rate in rates), visits)
    return table


def every(rate: float) -> str:
    """Say the mean time between changes in six characters or less.

    >>> every(40.0), every(1 / 200), every(0.0)
    ('36 min', '200 d', 'never')
    """
    if rate <= 0.0:
        return "never"
    number, unit = format_duration(1.0 / rate).split()
    return f"{float(number):.0f} min" if unit == "min" else f"{number} {unit[0]}"


def _place(rate: float, cells: int) -> int:
    """Give the cell of the scale that a rate falls into; the ends hold all that is beyond."""
    low, high = SCALE
    share = math.log(max(rate, low) / low) / math.log(high / low)
    return min(int(share * cells), cells - 1)


def _marks(scale: int) -> str:
    cells = [" "] * scale
    for name, rate in MARKS.items():
        first = min(max(_place(rate, scale) - len(name) // 2, 0), scale - len(name))
        if "".join(cells[max(first - 1, 0) : first + len(name)]).isspace():
            cells[first : first + len(name)] = name
    return "".join(cells)


def _bar(true: float, estimate: float, ends: tuple[float, float], scale: int) -> Text:
    """Draw an interval with ends at half cells, the truth, and the estimate on top."""
    cells = [("·", "bright_black")] * scale
    (first, from_middle), (last, past_middle) = (divmod(_place(e, 2 * scale), 2) for e in ends)
    cells[first : last + 1] = [("━", INTERVAL)] * (last + 1 - first)
    if first < last:
        cells[first] = ("╺" if from_middle else "━", INTERVAL)
        cells[last] = ("━" if past_middle else "╸", INTERVAL)
    there, here = _place(true, scale), _place(estimate, scale)
    cells[there] = ("│", TRUTH)
    cells[here] = ("●", BOTH if here == there else ESTIMATE)
    return Text.assemble(*cells)


def _errors(history: Sequence[Frame], scale: int) -> list[Text]:
    """Draw how the errors fell, a line an estimator, aligned with the scale of the table."""
    errors = [frame.errors for frame in history]
    return [
        Text.assemble(
            (f"{'median error' if row == 0 else '':{BEFORE_SCALE - 12}}", "bold"),
            f"{name:12}",
            (_sparkline([past[name] for past in errors], scale), INTERVAL),
            (f" {last:5.0%}", "bold"),
        )
        for row, (name, last) in enumerate(errors[-1].items())
    ]


def _sparkline(errors: Sequence[float], scale: int) -> str:
    """Draw errors on a logarithmic scale, from the first to the last."""
    points = min(scale, len(errors))
    chosen = [errors[(number + 1) * len(errors) // points - 1] for number in range(points)]
    span = math.log(WORST / BEST)
    shares = (math.log(min(max(error, BEST), WORST) / BEST) / span for error in chosen)
    return "".join(BARS[round(share * (len(BARS) - 1))] for share in shares).ljust(scale)
