"""``recrawl paper``: reproduce the experiments of the paper behind recrawl."""

from typing import TYPE_CHECKING, Annotated

import typer

from recrawl.cli.options import option_errors
from recrawl.cli.output import say
from recrawl.cli.replay_options import Seed

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.cli.render.terminal import Table
    from recrawl.paper.section import Claim


def paper(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="What to run: experiment 1, 2 or 3; theorems; beyond, for questions the paper "
            "leaves open; or all.",
        ),
    ] = "all",
    *,
    runs: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Number of random histories per page."),
    ] = 1_000,
    seed: Seed = 0,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Output folder; created if it does not exist."
        ),
    ] = "paper-report",
) -> None:
    """Reproduce the experiments of the paper behind recrawl and check its claims.

    The paper is "Change Rate Estimation and Optimal Freshness in Web Page Crawling" (Avrachenkov,
    Patil and Thoppe 2020). Figures, the numbers behind them, and a report to open in a browser are
    written to a folder.

    Examples:
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
    with option_errors(options), progress_bar("Reproducing") as progress:
        sections = reproduce(experiment, runs=runs, seed=seed, progress=progress)
    report = write_report(output, sections, Origin(experiment, runs, seed))
    _print_claims(claims_of(sections.values()), report)


def _print_claims(claims: "list[Claim]", report: "Path") -> None:
    """Print the claims with their verdicts, and where the report is."""
    from recrawl.cli.render.terminal import show
    from recrawl.escaping import printable
    from recrawl.paper.section import counted

    if claims:
        show(_verdicts(claims))
    say(counted(claims).capitalize())
    say(f"The report is {printable(str(report))}; open it in a browser")


def _verdicts(claims: "list[Claim]") -> "Table":
    """Return the claims as a table, without the measurements, which are in the report."""
    from rich.text import Text

    from recrawl.cli.render.terminal import Table

    colours = {"holds": "green", "holds with a remark": "yellow", "does not hold": "red"}
    table = Table()
    table.add_column("section", no_wrap=True)
    table.add_column("the paper says")
    table.add_column("verdict", no_wrap=True)
    for claim in claims:
        verdict = Text(claim.verdict, style=colours[claim.verdict])
        table.add_row(Text(claim.section), Text(claim.says), verdict)
    return table
