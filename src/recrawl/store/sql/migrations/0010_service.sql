-- What a service keeps: who may use it, and the pages that crawlers have leased.

-- Of a token only a digest is kept; it cannot be shown again.
CREATE TABLE tokens (
    name TEXT PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    access TEXT NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Leases outlive a service that is killed. Pages are 64-bit numbers, one after another; the key is
-- what the crawler repeats a request with that was not answered.
CREATE TABLE leases (
    id TEXT PRIMARY KEY,
    request_key TEXT UNIQUE,
    granted_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    pages BLOB NOT NULL
) WITHOUT ROWID;

PRAGMA user_version = 10;
