"""What was learned about hosts and folders, from one run to the next."""

from pathlib import Path

from recrawl.store.sqlite import SqliteStore


def test_what_is_kept_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "recrawl.db"
    killed = SqliteStore.open(path, create=True)
    killed.keep("trust", {"a.example": b"one", "b.example": b"two"})
    killed.keep("trust", {"a.example": b"three"})
    killed.keep("clock", {"a.example": b"\0four"})
    killed.keep("clock", {})
    # It is not closed: what the next one reads was durable when `keep` returned.
    with SqliteStore.open(path) as store:
        assert store.kept("trust") == {"a.example": b"three", "b.example": b"two"}
        assert store.kept("clock") == {"a.example": b"\0four"}
        assert store.kept("nothing") == {}
        assert store.check() == []
    killed.close()
