"""The program, with a task beside the crawl that measures how late the event loop is.

``python -m acceptance.lag FILE ARGUMENT...`` writes the worst lag so far to the file, in seconds:
with the time that the event loop's thread waited for a processor, and without.
"""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path

NAP = 0.01
#: The name of a variable: seconds in which the program has to stop, if not as many as usual.
STOP_SECONDS = "LAG_STOP_SECONDS"


class Lag:
    """The worst lag so far: what a task on the loop notices, and a thread while the loop hangs."""

    def __init__(self, file: Path) -> None:
        self._file = file
        # Opening it each time would itself make the loop late.
        self._schedule = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", 0)
        self._worst = self._own_worst = 0.0
        self._beat, self._before = time.perf_counter(), self._waited()

    def _waited(self) -> float:
        """Return the seconds that the loop's thread has waited for a processor."""
        return int(os.pread(self._schedule, 100, 0).split()[1]) / 1e9

    def note(self) -> None:
        """Write the lag at once if it is the worst, as the program may be killed."""
        lag = time.perf_counter() - self._beat - NAP
        own = lag - (self._waited() - self._before)
        if lag > self._worst or own > self._own_worst:
            self._worst, self._own_worst = max(lag, self._worst), max(own, self._own_worst)
            self._file.write_text(f"{self._worst} {self._own_worst}", "ascii")

    async def beat(self) -> None:
        """Sleep again and again on the loop."""
        while True:
            self._beat, self._before = time.perf_counter(), self._waited()
            await asyncio.sleep(NAP)
            self.note()

    def watch(self, stop: threading.Event) -> None:
        """Look from another thread whether the loop still beats."""
        while not stop.wait(0.2):
            self.note()


def main(file: Path) -> None:
    """Run the program, and measure while it crawls."""
    from recrawl.cli.app import main as program
    from recrawl.crawler import stopping
    from recrawl.engine.engine import Engine
    from recrawl.parsing import process as parse_process

    if STOP_SECONDS in os.environ:
        stopping.STOP_SECONDS = parse_process.MAX_WAIT = float(os.environ[STOP_SECONDS])
    usual = Engine.run

    async def run(engine: Engine, seconds: float | None = None) -> object:
        lag, stop = Lag(file), threading.Event()
        task = asyncio.create_task(lag.beat())
        threading.Thread(target=lag.watch, args=(stop,), daemon=True).start()
        try:
            return await usual(engine, seconds)
        finally:
            stop.set()
            task.cancel()

    Engine.run = run  # type: ignore[assignment, method-assign]
    program()


if __name__ == "__main__":
    where = Path(sys.argv.pop(1))
    sys.argv[0] = "recrawl"
    main(where)
