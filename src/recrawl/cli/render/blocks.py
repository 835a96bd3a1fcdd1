"""The blocks of a copy: which count as the page's own, and which do not."""

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from recrawl.cli.output import json_text, say
from recrawl.cli.render.terminal import Table, show
from recrawl.cli.render.units import iso, minute
from recrawl.escaping import printable
from recrawl.store.rows import Copy

#: How a block is classified, where it is, and what it says.
Block = tuple[str, str, str]

#: The kinds of blocks, and their styles on a terminal.
KINDS = {"own": "bold", "furniture": "cyan", "template": "blue", "noise": "dim"}


def print_blocks(copy: Copy, blocks: Sequence[Block]) -> None:
    """Print the blocks of a copy as a table, in the order of the page."""
    say(printable(copy.page.url))
    counts = Counter(kind for kind, _, _ in blocks)
    parts = [f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind]]
    say(f"Blocks in the copy of {minute(copy.response.at)} UTC: {', '.join(parts) or 'none'}.")
    if not blocks:
        return
    say()
    table = Table()
    table.add_column("kind", no_wrap=True)
    table.add_column("text", overflow="fold", ratio=3)
    table.add_column("element", overflow="fold", ratio=2)
    for kind, path, text in blocks:
        style = KINDS[kind]
        table.add_row(Text(kind, style), Text(printable(text), style), Text(printable(path)))
    show(table)
    if counts["template"] or counts["furniture"] or counts["noise"]:
        say("The settings watch and ignore override this for elements of a host or URL.")


def blocks_as_json(copy: Copy, blocks: Sequence[Block]) -> str:
    """Return the blocks of a copy as a JSON object."""
    listed = [{"kind": kind, "element": path, "text": text} for kind, path, text in blocks]
    return json_text({"page": copy.page.url, "copied": iso(copy.response.at), "blocks": listed})
