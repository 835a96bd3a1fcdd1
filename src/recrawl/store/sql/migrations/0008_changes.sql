-- The feed of changes: what became of copies, in order, for indexes and other readers.

-- Serials rise by one and are never reused. The URL is here because the page may be removed.
CREATE TABLE changes (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    page INTEGER NOT NULL,
    url TEXT NOT NULL,
    kind INTEGER NOT NULL,
    at INTEGER NOT NULL,
    previous INTEGER,
    before BLOB,
    after BLOB,
    share REAL
);

-- What readers of the feed know of a page: 0 nothing, 1 that it is there, 2 that it is gone.
ALTER TABLE pages ADD COLUMN feed_state INTEGER NOT NULL DEFAULT 0;
UPDATE pages SET feed_state = CASE state WHEN 2 THEN 2 ELSE 1 END WHERE body IS NOT NULL;

PRAGMA user_version = 8;
