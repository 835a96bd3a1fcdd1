"""Every picture the project draws."""

from recrawl.figures.freshness import draw_freshness, freshness_figure
from recrawl.figures.learning import draw_learning, learning_curves, learning_figure
from recrawl.figures.replay import draw_replay, replay_figure

__all__ = [
    "draw_freshness",
    "draw_learning",
    "draw_replay",
    "freshness_figure",
    "learning_curves",
    "learning_figure",
    "replay_figure",
]
