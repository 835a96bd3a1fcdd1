-- robots.txt and sitemaps of hosts, so that they need not be requested again after a restart.

CREATE TABLE robots (
    origin TEXT PRIMARY KEY,
    status INTEGER NOT NULL,
    deflated BLOB NOT NULL,
    fetched_at INTEGER NOT NULL,
    failing_since INTEGER,
    problem TEXT,
    permanent INTEGER NOT NULL
);

CREATE TABLE sitemaps (
    url TEXT PRIMARY KEY,
    read_at INTEGER,
    etag TEXT,
    last_modified TEXT,
    pages INTEGER NOT NULL DEFAULT 0
);

PRAGMA user_version = 3;
