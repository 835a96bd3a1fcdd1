"""The first use of recrawl on a machine that has never seen it.

The wheel in `dist/` (``make dist``) is installed into a new environment. Every program runs there
on one core and, where this program may choose, as a user without rights, who can write neither to
the environment nor to a home; so nothing can be kept from one run to the next.
"""

import functools
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.report import Figure, load_note, markdown, write_section
from benchmarks.sizes import AbsentError, is_smallest, sized

WHEELS = Path(__file__).parent.parent / "dist"
PAGE = "explanation/how-it-works.md"
NOBODY = 65534
REPEAT = sized(5, 1)
LOG = "page,time,changed\n" + "".join(
    f"https://example.org/{page},2026-01-{day:02},{int(day % (page % 7 + 1) == 0)}\n"
    for page in range(20)
    for day in range(1, 29)
)
PAGES = "page,name,weight,born,died\n" + "".join(f"{n},p{n},1,1767225600,\n" for n in range(20))
CHANGES = "page,time\n" + "".join(f"{n % 20},{1767225600 + 9000 * n}\n" for n in range(600))
COMMANDS = {
    "recrawl estimate, 20 pages": "estimate crawl.csv",
    "recrawl plan, 20 pages": "plan crawl.csv --budget 3/day",
    "recrawl replay, 20 pages": "replay trace --every 5d",
}


def run() -> list[Figure]:
    """Install, run each command some times, and say what the best of them took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        python = _install(folder)
        work = folder / "work"
        _inputs(work)
        times = {"python -c pass": _best(work, [str(python), "-c", "pass"])}
        times["python -c 'import numpy'"] = _best(work, [str(python), "-c", "import numpy"])
        recrawl = [str(python), "-m", "recrawl"]
        for title, words in COMMANDS.items():
            times[title] = _best(work, [*recrawl, *words.split()])
        first = "recrawl run, until its first page"
        times[first] = _fewest(lambda: _first_page(work, recrawl))
        size = 0.0 if is_smallest() else _megabytes(folder / "environment")
    rows = [[title, f"{wall:.2f} s", f"{used:.2f} s"] for title, (wall, used) in times.items()]
    note = f"The environment takes {size:.0f} MB on disk. {load_note()}"
    table = markdown(["first use", "seconds", "CPU seconds"], rows)
    write_section(PAGE, "first-use", f"{table}\n\n{note}")
    bars = dict.fromkeys(COMMANDS, 2.0) | {first: 3.0}
    return [Figure(title, times[title][0], bar, unit=" s") for title, bar in bars.items()]


def _install(folder: Path) -> Path:
    """Install the newest wheel into a new environment; return its Python.

    At the smallest size, nothing is installed: it is this program's own.
    """
    if is_smallest():
        return Path(sys.executable)
    wheels = sorted(WHEELS.glob("recrawl-*.whl"), key=lambda wheel: wheel.stat().st_mtime)
    if not wheels:
        raise AbsentError("there is no wheel in dist/; make one with: make dist")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Nothing may be taken for installed that this program finds elsewhere.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, str(wheels[-1])], check=True, env=env)
    return python


def _inputs(work: Path) -> None:
    (work / "trace").mkdir(parents=True)
    (work / "crawl.csv").write_text(LOG, encoding="utf-8")
    (work / "trace" / "pages.csv").write_text(PAGES, encoding="utf-8")
    (work / "trace" / "changes.csv").write_text(CHANGES, encoding="utf-8")
    # The store is all that has to be written.
    for path in (work, *work.rglob("*")):
        path.chmod(0o777)


def _best(work: Path, command: Sequence[str]) -> tuple[float, float]:
    """Return the fastest run's seconds, and the fewest that a processor worked."""

    def once() -> float:
        began = time.perf_counter()
        with _started(work, command) as process:
            if process.wait():
                raise SystemExit(f"{' '.join(command)} failed")
        return time.perf_counter() - began

    return _fewest(once)


def _fewest(work: Callable[[], float]) -> tuple[float, float]:
    runs = []
    for _ in range(REPEAT):
        before = _worked()
        runs.append((work(), _worked() - before))
    walls, used = zip(*runs, strict=True)
    return min(walls), min(used)


def _worked() -> float:
    """Return the seconds that processors have worked for programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@functools.cache
def _may_be_nobody() -> bool:
    """Return whether programs can be run as somebody else, who can read this Python."""
    if os.geteuid() != 0 or is_smallest():
        return False
    command = [os.path.realpath(sys.executable), "-c", "pass"]
    try:
        return (
            subprocess.run(command, user=NOBODY, check=False, capture_output=True).returncode == 0
        )
    except PermissionError:
        print("other users cannot run this Python: everything runs as root, who can write anywhere")
        return False


@contextmanager
def _started(work: Path, command: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program on one core, without rights, a home, or a terminal."""
    one_core = ["taskset", "-c", "0"] if shutil.which("taskset") else []
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if _may_be_nobody() else {}
    env = {"PATH": os.defpath, "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    if is_smallest() and "PYTHONPATH" in os.environ:
        env["PYTHONPATH"] = os.environ["PYTHONPATH"]
    with subprocess.Popen(
        [*one_core, *command],
        cwd=work,
        env=env,
        stdout=subprocess.DEVNULL,
        **as_nobody,  # type: ignore[call-overload]
    ) as process:
        yield process


def _first_page(work: Path, recrawl: Sequence[str]) -> float:
    """Return the seconds from the start of a crawl until its first page is asked for."""
    asked = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/page":
                asked.set()
            self.send_response(200 if self.path == "/page" else 404)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"Hello")

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/page"
    with tempfile.TemporaryDirectory(dir=work) as name:
        crawl = Path(name)
        crawl.chmod(0o777)
        # What a processor works for this counts as well.
        with _started(crawl, [*recrawl, "add", url]) as adding:
            adding.wait()
        began = time.perf_counter()
        command = [*recrawl, "run", "--budget", "10/s", "--allow-private", "--for", "20s"]
        with _started(crawl, command) as process:
            came = asked.wait(60)
            seconds = time.perf_counter() - began
            process.terminate()
    server.shutdown()
    if not came:
        raise SystemExit("recrawl run asked for no page within a minute")
    return seconds


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6
