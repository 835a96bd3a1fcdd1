"""Gather the pages of the documentation site: python tools/gather_docs.py FOLDER.

They keep the folders they have in the repository, so that every relative link works in both.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs",
    "examples",
)
# The tests write a fence "csv visits.csv" to a file of that name. On the site the name is a title.
NAMED_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)


def gather(folder: Path) -> None:
    """Copy the sources of the site into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source in (ROOT / name for name in SOURCES):
        if source.is_dir():
            shutil.copytree(
                source, folder / source.name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(source, folder)
    for page in folder.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        page.write_text(NAMED_FENCE.sub(r'```\1 title="\2"', text), encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
