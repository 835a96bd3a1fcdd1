"""``recrawl compact``: free the disk space that a store no longer uses."""

from recrawl.cli.crawl_options import SettingsFile, StoreFile, settings_of
from recrawl.cli.output import say


def compact(
    *,
    store: StoreFile = None,
    settings: SettingsFile = None,
) -> None:
    """Free the disk space that removed pages and old copies took in the store.

    The store reuses such space, but its file never shrinks by itself. The file is rewritten, which
    temporarily takes as much space again; stop a run first.

    Example:
        recrawl compact
    """
    path = settings_of(store, settings).store
    from recrawl.cli.render.progress import progress_bar
    from recrawl.cli.render.units import size
    from recrawl.escaping import printable
    from recrawl.store.sqlite import SqliteStore

    with SqliteStore.open(path) as opened, opened.lock(), progress_bar("Compacting"):
        before, after = opened.compact()
    saved = before - after
    what = f"{size(saved)} freed" if saved > 0 else "there was no space to free"
    say(f"{printable(path)}: {size(after)}, {what}.")
