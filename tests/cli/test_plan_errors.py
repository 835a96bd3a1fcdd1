"""Every way in which what ``recrawl plan`` and ``recrawl budget`` are given can be wrong."""

from pathlib import Path

import pytest
from cli.refusing import left_alone, refused
from typer.testing import CliRunner

from recrawl.cli.app import app

GOOD = "page,time,changed\nhttps://a.org/,2026-01-01,\nhttps://a.org/,2026-01-02,1\n"
#: Each command with what it must be given.
PLAN = ("plan", "--budget", "1000/day")
BUDGET = ("budget", "--freshness", "0.9")
BOTH = pytest.mark.parametrize("command", [PLAN, BUDGET], ids=["plan", "budget"])
EXAMPLES = "write for example 500/h, 2/s, 1000/day or 1.5M/day"
NO_ENDING = "does not end in .csv, .json, .jsonl, .parquet; choose a format with --format"

BAD_RATES = {
    "1000": f"'1000' has no unit; {EXAMPLES}",
    "-5": f"'-5' has no unit; {EXAMPLES}",
    "-5/day": f"'-5/day' is not a rate; {EXAMPLES}",
    "": f"'' is not a rate; {EXAMPLES}",
    "many": f"'many' is not a rate; {EXAMPLES}",
    "5/fortnight": f"'5/fortnight' is not a rate; {EXAMPLES}",
    "nan/day": f"'nan/day' is not a rate; {EXAMPLES}",
    "1e400/s": f"'1e400/s' is too large; {EXAMPLES}",
    "0/day": "'0/day' allows no visits",
    "x" * 99: f"'{'x' * 39}…' is not a rate; {EXAMPLES}",
}


@pytest.mark.parametrize("text", BAD_RATES)
def test_a_rate_that_is_none_is_refused_before_the_log_is_read(text: str) -> None:
    problem = BAD_RATES[text]
    assert refused("plan", "no such log", f"--budget={text}") == f"--budget: {problem}"
    sentence = refused(*PLAN, "no such log", f"--host-budget={text}")
    assert sentence == f"--host-budget: {problem}"


@pytest.mark.parametrize("share", ["0", "95", "-0.5", "nan", "inf"])
def test_a_freshness_that_is_none_is_refused_before_the_log_is_read(share: str) -> None:
    sentence = refused("budget", "no such log", f"--freshness={share}")
    assert sentence == f"--freshness: {float(share)} is not between 0 and 1; 0.95 is usual"


def test_a_freshness_that_no_budget_brings_is_refused() -> None:
    sentence = refused("budget", "no such log", "--freshness", "1")
    assert sentence == (
        "--freshness: 1 cannot be reached, because pages change between visits; 0.95 is usual"
    )


OPTIONS = [
    (["--visits", "x"], "--visits: 'x' is none of periodic, poisson"),
    (["--method", "magic"], "--method: 'magic' is none of naive, lln, sa, sam, mle, mm, "),
    (["--prior", "x"], "--prior: 'x' is none of alone, fleet, host"),
    (["--prior", "fleet", "--method", "mle"], "--prior: the method mle has no prior; only gamma"),
    (["--format", "xml"], "--format: 'xml' is none of table, csv, json, jsonl, parquet"),
    (["--format", "csv", "-o", "x.json"], "--format: 'x.json' would contain csv but has"),
    (["--format", "table", "-o", "x.csv"], "--format: a file holds csv, json, jsonl, parquet, not"),
    (["-o", "plan.txt"], f"--output: 'plan.txt' {NO_ENDING}"),
    (["-o", "nowhere/plan.csv"], "nowhere/plan.csv: there is no directory nowhere"),
]


@BOTH
@pytest.mark.parametrize(("options", "sentence"), OPTIONS)
def test_bad_options_are_refused_before_the_log_is_read(
    command: tuple[str, ...], options: list[str], sentence: str
) -> None:
    assert refused(*command, "no such log", *options).startswith(sentence)


@BOTH
def test_two_files_cannot_come_through_one_pipe(command: tuple[str, ...]) -> None:
    sentence = refused(*command, "-", "--importance", "-", given=GOOD)
    assert sentence == "--importance: standard input is already the crawl log; give a file"


def test_a_picture_of_another_kind_or_place_is_refused(tmp_path: Path) -> None:
    sentence = refused(*BUDGET, "no such log", "--plot", "curve.pdf")
    assert sentence == "--plot: 'curve.pdf' does not end in .png or .svg"
    there = tmp_path / "nowhere" / "curve.png"
    sentence = refused(*BUDGET, "no such log", "--plot", str(there))
    assert sentence == f"{there}: there is no directory {there.parent}"
    (tmp_path / "curve.svg").mkdir()
    sentence = refused(*BUDGET, "no such log", "--plot", str(tmp_path / "curve.svg"))
    assert sentence == f"{tmp_path}/curve.svg: this is a directory, not a file"


BAD_LOGS = {
    "no such file": (None, ": there is no such file"),
    "empty": ("", ": the file is empty"),
    "bad time": (GOOD + "b,soon,1\n", ", row 4, column 'time': 'soon' is not a time"),
    "nothing learned": ("page,time,changed\na,1,\n", ": no page was seen twice, so nothing can"),
    "negative importance": (
        "page,time,changed,importance\na,1,,1\na,2,,-2\n",
        ", row 3, column 'importance': '-2' is not a number, 0 or above",
    ),
    "nothing important": (
        "page,time,changed,importance\na,1,,5\na,2,1,0\n",
        ", column 'importance': no page has an importance above 0",
    ),
}


@BOTH
@pytest.mark.parametrize("kind", BAD_LOGS)
def test_a_bad_log_is_refused_and_nothing_is_written(
    tmp_path: Path, command: tuple[str, ...], kind: str
) -> None:
    text, problem = BAD_LOGS[kind]
    log, target = tmp_path / "log.csv", tmp_path / "out.csv"
    target.write_text("as it was", encoding="utf-8")
    if text is not None:
        log.write_text(text, encoding="utf-8")
    sentence = left_alone(tmp_path, *command, str(log), "-o", str(target))
    assert sentence.startswith(f"{log}{problem}")


BAD_IMPORTANCES = {
    "no such file": (None, ": there is no such file"),
    "no rows": ("page,importance\n", ": there are no pages in it"),
    "no column": ("page,weight\na,1\n", ": there is no column 'importance'; the columns are"),
    "unknown page": (
        "page,importance\nhttps://a.org/,1\nhttps://a.org/x,1\n",
        ", row 3, column 'page': the page 'https://a.org/x' is not in the crawl log",
    ),
    "no number": (
        "page,importance\nhttps://a.org/,high\n",
        ", row 2, column 'importance': 'high' is not a number, 0 or above",
    ),
    "two minds": (
        "page,importance\nhttps://a.org/,1\nhttps://a.org/,2\n",
        ", row 3, column 'importance': the page 'https://a.org/' has a different importance",
    ),
    "nothing important": (
        "page,importance\nhttps://a.org/,0\n",
        ", column 'importance': no page has an importance above 0",
    ),
}


@BOTH
@pytest.mark.parametrize("kind", BAD_IMPORTANCES)
def test_bad_importance_is_refused_and_nothing_is_written(
    tmp_path: Path, command: tuple[str, ...], kind: str
) -> None:
    text, problem = BAD_IMPORTANCES[kind]
    log, file = tmp_path / "log.csv", tmp_path / "views.csv"
    log.write_text(GOOD, encoding="utf-8")
    if text is not None:
        file.write_text(text, encoding="utf-8")
    target = str(tmp_path / "out.json")
    sentence = left_alone(tmp_path, *command, str(log), "--importance", str(file), "-o", target)
    assert sentence.startswith(f"{file}{problem}")


@pytest.mark.parametrize("page", ["b", "/path", "mailto:x@a.org", "file:///x"])
def test_a_host_budget_needs_hosts(page: str) -> None:
    log = f"{GOOD}{page},2026-01-01,\n"
    sentence = refused(*PLAN, "-", "--host-budget", "5/h", given=log)
    assert sentence == f"--host-budget: the page '{page}' is not a URL, so it has no host"


@BOTH
def test_last_modified_needs_its_column(command: tuple[str, ...]) -> None:
    sentence = refused(*command, "-", "--method", "last-modified", given=GOOD)
    assert sentence == ("standard input: the method last-modified needs the column 'last_modified'")


@BOTH
def test_a_full_disk_is_told_in_one_sentence(command: tuple[str, ...]) -> None:
    sentence = refused(*command, "-", "-o", "/dev/full", "--format", "csv", given=GOOD)
    assert sentence == "/dev/full: it cannot be written: No space left on device"


@pytest.mark.parametrize(
    "arguments",
    [["plan", "log"], ["plan", "--budget", "1/s"], ["budget", "log"], [*BUDGET, "--budget", "1/s"]],
)
def test_usage_errors_exit_with_2_and_no_trace(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("recrawl: ")
    assert result.stderr.endswith(f"`recrawl {arguments[0]} --help` shows how it is used\n")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
