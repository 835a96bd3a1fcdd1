"""Every picture the project draws."""

from recrawl.figures.learning import draw_learning, learning_curves, learning_figure

__all__ = ["draw_learning", "learning_curves", "learning_figure"]
