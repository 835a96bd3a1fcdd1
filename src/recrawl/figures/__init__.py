"""Pictures of plans and replays, and the style that all pictures share."""

from recrawl.figures.freshness import draw_freshness, freshness_figure
from recrawl.figures.replay import draw_replay, replay_figure

__all__ = ["draw_freshness", "draw_replay", "freshness_figure", "replay_figure"]
