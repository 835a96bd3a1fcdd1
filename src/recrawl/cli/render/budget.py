"""What a given freshness costs, for people: in words, and drawn with characters."""

import math
import sys

import numpy as np
from rich.console import Console
from rich.text import Text

from recrawl.cli.output import say
from recrawl.cli.render.numbers import number, per_day, percent
from recrawl.cli.render.terminal import ANY_WIDTH, log_summary, say_notes
from recrawl.kernels.jit import Floats
from recrawl.planning.cost import FreshnessCost
from recrawl.units import format_duration, format_rate

#: The size of the drawing: cells between two budgets, and rows; some 70 characters wide.
CELLS_PER_STEP, ROWS = 4, 10
BARS = " ▁▂▃▄▅▆▇█"
LEVELS = len(BARS) - 1
#: Powers of ten from here on are labelled as 1e10.
LONG = 10
#: Styles that are legible on dark and on light terminals.
PAID, BEYOND = "cyan", "bright_black"


def print_summary(cost: FreshnessCost, *, err: bool) -> None:
    """Print what the freshness costs, what the log's own visits achieve, and what was read."""
    say_notes(cost.beliefs.facts)
    for line in (
        in_words(cost),
        compared(cost),
        log_summary(cost.beliefs.facts, unknown=cost.beliefs.unknown),
    ):
        say(line, err=err)


def in_words(cost: FreshnessCost) -> str:
    """Return a sentence about what the freshness costs."""
    fresh, visits = f"{100 * cost.target.freshness:.10g} %", cost.target.visits
    if visits == 0.0:
        return f"{fresh} fresh costs no visits: that share was never seen to change"
    rate = format_rate(visits)
    every = format_duration(cost.beliefs.facts.pages / visits)
    cost_per_day = per_day(visits) if rate.endswith("per day") else f"{per_day(visits)}, {rate}"
    return f"{fresh} fresh costs {cost_per_day}; each page is visited every {every} on average"


def compared(cost: FreshnessCost) -> str:
    """Return a sentence about what the log's own visits achieve, and what they could achieve."""
    visits, now = per_day(cost.as_logged.visits), percent(cost.as_logged.freshness)
    planned = percent(cost.planned.freshness)
    return f"the log has {visits}: {now} fresh, or {planned} if they were planned"


def print_curve(cost: FreshnessCost) -> None:
    """Print freshness over budget, in colour on a terminal."""
    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else ANY_WIDTH, highlight=False)
    console.print(drawing(cost.budgets, cost.freshness, cost.target.visits), end="", no_wrap=True)


def drawing(budgets: Floats, shares: Floats, asked: float) -> Text:
    """Draw the curve as bars over a logarithmic scale of budgets, and mark the one asked for."""
    cells = CELLS_PER_STEP * (budgets.size - 1) + 1
    steps = np.linspace(0.0, budgets.size - 1.0, cells)
    heights = np.rint(np.interp(steps, np.arange(budgets.size), shares) * ROWS * LEVELS)
    logs = np.log10(budgets)
    mark = _cell(asked, logs, cells)
    paid = cells if mark is None else mark + 1
    text = Text(" freshness\n")
    for row in reversed(range(ROWS)):
        # A label is at the height that a full row reaches.
        percent = 100 * (row + 1) // ROWS
        text.append(f"{percent:4} % ┤" if (ROWS - row) % 2 else "       │")
        levels = np.clip(heights - row * LEVELS, 0, LEVELS).astype(np.int64)
        bars = "".join(BARS[level] for level in levels).rstrip()
        text.append(bars[:paid], PAID).append(f"{bars[paid:]}\n", BEYOND)
    text.append_text(_scale(logs, cells, mark))
    return text.append("" if mark is None else f", ▲ {number(asked)}").append("\n")


def _scale(logs: Floats, cells: int, mark: int | None) -> Text:
    """Draw the scale of budgets: its powers of ten, and the marked budget."""
    line, labels = ["─"] * cells, [" "] * cells
    for power in range(math.ceil(logs[0]), math.floor(logs[-1]) + 1):
        cell = _cell(10.0**power, logs, cells)
        if cell is not None:
            line[cell] = "┬"
            label = number(10.0**power) if abs(power) < LONG else f"1e{power}"
            first = max(0, cell - len(label) // 2)
            labels[first : first + len(label)] = label
    if mark is not None:
        line[mark] = "▲"
    words = "".join(labels).rstrip()
    return Text(f"   0 % └{''.join(line)}\n        {words}\n{'visits per day':>46}")


def _cell(budget: float, logs: Floats, cells: int) -> int | None:
    """Return the cell that a budget falls into, or None if it is off the scale."""
    if budget <= 0.0:
        return None
    share = (math.log10(budget) - logs[0]) / (logs[-1] - logs[0])
    cell = round(share * (cells - 1))
    return cell if 0 <= cell < cells else None
