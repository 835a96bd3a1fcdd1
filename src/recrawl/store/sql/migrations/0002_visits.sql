-- The crawl log, and the counts of requests and visits.

-- Stored in the order in which it is read: by page, then by time.
CREATE TABLE visits (
    page INTEGER NOT NULL REFERENCES pages (number),
    at INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    previous INTEGER,
    status INTEGER NOT NULL,
    signal INTEGER,
    last_modified INTEGER,
    bytes INTEGER NOT NULL,
    ms INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    truncated INTEGER NOT NULL,
    sha1 BLOB,
    mime TEXT,
    redirect TEXT,
    error TEXT,
    PRIMARY KEY (page, at)
) WITHOUT ROWID;

-- Requests and visits, one row per hour since 1970. They stay when pages and their visits are
-- removed; the last two columns count what the log no longer shows.
CREATE TABLE spending (
    hour INTEGER PRIMARY KEY,
    requests INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    robots INTEGER NOT NULL DEFAULT 0,
    sitemaps INTEGER NOT NULL DEFAULT 0,
    first INTEGER NOT NULL DEFAULT 0,
    changed INTEGER NOT NULL DEFAULT 0,
    unchanged INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    gone INTEGER NOT NULL DEFAULT 0,
    forgotten_visits INTEGER NOT NULL DEFAULT 0,
    forgotten_requests INTEGER NOT NULL DEFAULT 0
);

PRAGMA user_version = 2;
