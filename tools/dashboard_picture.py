"""Take the picture of the dashboard in the documentation: the demo in a browser, after a while.

::

    python -m tools.dashboard_picture              # writes docs/figures/dashboard.png
    python -m tools.dashboard_picture --dark --width 390 --path /pages --to phone.png
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "dashboard.png"
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
).split()


def main() -> None:
    """Start the demo, wait, and take the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=PICTURE)
    parser.add_argument("--path", default="/")
    parser.add_argument("--seconds", type=float, default=150.0, help="how long the demo has run")
    parser.add_argument("--width", type=int, default=1180)
    parser.add_argument("--height", type=int, default=930)
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    command = [sys.executable, "-m", "recrawl", "demo", "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        try:
            found = re.search(r"http://\S+", demo.stdout.readline() if demo.stdout else "")
            if found is None:
                sys.exit("the demo does not start")
            _take(found[0], given)
        finally:
            demo.send_signal(signal.SIGINT)


def _take(link: str, given: argparse.Namespace) -> None:
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        page = browser.new_page(
            viewport={"width": given.width, "height": given.height},
            color_scheme="dark" if given.dark else "light",
        )
        page.goto(link)
        page.wait_for_timeout(1_000 * given.seconds)
        if given.path != "/":
            page.goto("/".join(link.split("/")[:3]) + given.path)
            page.wait_for_timeout(1_000)
        page.screenshot(path=given.to)
        browser.close()
    with Image.open(given.to) as taken:
        small = taken.convert("RGB")
    small.save(given.to, optimize=True)


if __name__ == "__main__":
    main()
