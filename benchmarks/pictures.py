"""The pictures in the documentation, drawn anew."""

from benchmarks.report import DOCS, Figure
from recrawl.figures.learning import draw_learning


def run() -> list[Figure]:
    """Draw them; a picture has no bar."""
    draw_learning(DOCS / "figures" / "learning.png")
    return []
