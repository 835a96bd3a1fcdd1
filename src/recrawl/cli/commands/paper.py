"""``recrawl paper``: the experiments that recrawl's estimators come from, run again."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.comparison import Seed, named

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from recrawl.paper.section import Claim


def paper(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="What to run: experiment 1, 2 or 3; theorems; beyond, which is what the paper "
            "leaves open; or all.",
        ),
    ] = "all",
    *,
    runs: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="How many times each page's life is drawn."),
    ] = 1_000,
    seed: Seed = 0,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Where to write; made if it is not there."
        ),
    ] = "paper-report",
) -> None:
    """Run the experiments of the paper behind recrawl, and check what it claims.

    The paper is "Change Rate Estimation and Optimal Freshness in Web Page Crawling" (Avrachenkov,
    Patil and Thoppe 2020). The folder gets pictures, the numbers behind them, and a report to open
    in a browser. Examples:

        recrawl paper
        recrawl paper 1 --runs 10000 -o experiment-1
        recrawl paper theorems --seed 7
    """
    from recrawl.cli.render.progress import progress_bar
    from recrawl.paper.output import check_folder, write_report
    from recrawl.paper.parts import reproduce
    from recrawl.paper.report import Origin
    from recrawl.paper.section import claims_of

    check_folder(output)
    options = {"experiment": "EXPERIMENT", "runs": "--runs"}
    with named(options), progress_bar("Reproducing") as advance:
        sections = reproduce(experiment, runs=runs, seed=seed, progress=advance)
    report = write_report(output, sections, Origin(experiment, runs, seed))
    _tell(claims_of(sections.values()), report)


def _tell(claims: "list[Claim]", report: "Path") -> None:
    """Say how the claims turned out, and where to read more."""
    from recrawl.cli.render.terminal import printable, show
    from recrawl.paper.section import counted

    if claims:
        show(_verdicts(claims))
    typer.echo(counted(claims).capitalize())
    typer.echo(f"The report is {printable(str(report))}; open it in a browser")


def _verdicts(claims: "list[Claim]") -> "Table":
    """Give the claims as a table; what was measured would not fit, and is in the report."""
    from rich.table import Table
    from rich.text import Text

    colours = {"holds": "green", "holds with a remark": "yellow", "does not hold": "red"}
    table = Table()
    table.add_column("place", no_wrap=True)
    table.add_column("the paper says")
    table.add_column("verdict", no_wrap=True)
    for claim in claims:
        verdict = Text(claim.verdict, style=colours[claim.verdict])
        table.add_row(Text(claim.section), Text(claim.says), verdict)
    return table
