-- What makes stores of a million pages faster: indexes that are built in one go, and pages counted
-- by host.

-- As it was, with numbers first, so that reading them does not pass over long texts. URLs are
-- unique by an index that can be dropped while very many pages are added.
DROP VIEW known_pages;
CREATE TABLE new_pages (
    number INTEGER PRIMARY KEY,
    url TEXT NOT NULL,
    host INTEGER NOT NULL REFERENCES hosts (number),
    importance REAL NOT NULL,
    depth INTEGER NOT NULL,
    source TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    last_visit INTEGER,
    visits INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    streak INTEGER NOT NULL DEFAULT 0,
    not_modified INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    shape REAL,
    time REAL,
    missing_since INTEGER,
    retry_at INTEGER,
    feed_state INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    etag TEXT,
    last_modified TEXT,
    octaves BLOB,
    body BLOB REFERENCES bodies (digest),
    fingerprint_kind TEXT,
    fingerprint BLOB,
    ignored BLOB,
    suspects BLOB
);
INSERT INTO new_pages
SELECT
    number, url, host, importance, depth, source, added_at, state, last_visit, visits, changes,
    streak, not_modified, failures, shape, time, missing_since, retry_at, feed_state, reason, etag,
    last_modified, octaves, body, fingerprint_kind, fingerprint, ignored, suspects
FROM pages ORDER BY number;
DROP TABLE pages;
ALTER TABLE new_pages RENAME TO pages;
CREATE UNIQUE INDEX pages_url ON pages (url);
-- Whether a body is still used is checked whenever a copy is replaced.
CREATE INDEX pages_body ON pages (body) WHERE body IS NOT NULL;
-- Both indexes hold only pages in trouble, so that a visit to any other costs nothing more.
CREATE INDEX pages_retry ON pages (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX pages_trouble ON pages (state, failures, host) WHERE state <> 0 OR failures > 0;
CREATE VIEW known_pages AS
SELECT
    pages.number, url, hosts.name AS host, importance, depth, state, last_visit, etag,
    last_modified, fingerprint_kind, fingerprint, ignored, suspects, body, visits, changes, streak,
    not_modified, failures, missing_since, retry_at, reason
FROM pages
JOIN hosts ON hosts.number = pages.host;

-- All pages of a host, and those never visited. Adding pages counts them, many at a time.
CREATE TABLE host_pages (
    host INTEGER PRIMARY KEY REFERENCES hosts (number),
    pages INTEGER NOT NULL,
    unvisited INTEGER NOT NULL
);
INSERT INTO host_pages (host, pages, unvisited)
SELECT host, count(*), sum(last_visit IS NULL) FROM pages GROUP BY host;
CREATE TRIGGER page_visited AFTER UPDATE OF last_visit ON pages
WHEN (old.last_visit IS NULL) <> (new.last_visit IS NULL) BEGIN
    UPDATE host_pages SET unvisited = unvisited + CASE WHEN old.last_visit IS NULL THEN -1 ELSE 1 END
    WHERE host = new.host;
END;
CREATE TRIGGER page_removed AFTER DELETE ON pages BEGIN
    UPDATE host_pages SET pages = pages - 1, unvisited = unvisited - (old.last_visit IS NULL)
    WHERE host = old.host;
END;

PRAGMA user_version = 14;
