"""Parts of a report that are made up, with everything a part can have."""

from functools import cache

import numpy as np
from matplotlib.figure import Figure

from recrawl.paper.report import Origin
from recrawl.paper.section import Claim, Section, Table, drawn

ORIGIN = Origin("all", runs=20, seed=3)


@cache
def made_up_section(name: str = "made-up", *, rows: int = 3, timed: bool = False) -> Section:
    """Return a section with two claims, a table and a real picture."""
    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([1, 2, 3])
    columns = {
        "visits": np.arange(rows),
        "error": np.arange(rows) / 7,
        "name": np.array([f"<{row}>, \"&'" for row in range(rows)], np.str_),
    }
    claims = (
        Claim("5", "A & B <i>agree</i>", f'"{name}": within 1 %', "does not hold"),
        Claim("3.1", "x tends to y", f"{name}: it does", "holds"),
    )
    return Section(
        title=f"Title of {name} & <others>",
        text=("First, a < b.", "Then <b>more</b> & more."),
        pictures=(drawn(name, 'See <here> & "there"\'s', figure),),
        tables=(Table(name, columns),),
        claims=claims,
        timings={"seconds": np.array([0.5, 0.25])} if timed else None,
    )
