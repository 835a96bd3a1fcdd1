"""The difference between two texts, in colour on a terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from recrawl.cli.output import say, say_as_is
from recrawl.cli.render.units import second
from recrawl.escaping import printable

#: Styles of lines on a terminal, by their first characters.
STYLES = {"@": "cyan", "-": "red", "+": "green"}
#: Lines at the beginning that name the two texts.
NAMES = 2


def print_diff(url: str, times: Sequence[int], found: Sequence[str]) -> None:
    """Print the lines in which two texts differ, as a unified diff.

    Args:
        url: The page.
        times: When the two copies were made, in microseconds.
        found: The lines of the diff, without the two that name the texts.
    """
    old, new = (f"{printable(url)} {second(at)}" for at in times)
    lines = [f"--- {old}", f"+++ {new}", *map(printable, found)] if found else []
    if not lines:
        say("The page's own text is the same in both copies; only what is around it may differ.")
    console = Console(highlight=False)
    for number, line in enumerate(lines):
        if console.is_terminal:
            style = "bold" if number < NAMES else STYLES.get(line[0], "")
            console.print(Text(line, style))
        else:
            say_as_is(line)
