-- Pages, their current copies, and the feed of edits that a run follows.

-- Numbers that only rise: a page's number is never reused, which a rowid would not guarantee.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('next_page', 0);

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Each host's name once, however many pages it has.
CREATE TABLE hosts (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- Bodies, each once, by the BLAKE2b-16 digest of the uncompressed content.
CREATE TABLE bodies (
    digest BLOB NOT NULL PRIMARY KEY,
    size INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    deflated BLOB NOT NULL
);

-- The totals of all bodies in one row: adding them up would read them all, and an index for it
-- would cost every visit two more pages of the file.
CREATE TABLE stock (
    bodies INTEGER NOT NULL,
    content_bytes INTEGER NOT NULL,
    stored_bytes INTEGER NOT NULL
);
INSERT INTO stock (bodies, content_bytes, stored_bytes) VALUES (0, 0, 0);
CREATE TRIGGER body_added AFTER INSERT ON bodies BEGIN
    UPDATE stock SET
        bodies = bodies + 1, content_bytes = content_bytes + new.size,
        stored_bytes = stored_bytes + new.stored;
END;
CREATE TRIGGER body_dropped AFTER DELETE ON bodies BEGIN
    UPDATE stock SET
        bodies = bodies - 1, content_bytes = content_bytes - old.size,
        stored_bytes = stored_bytes - old.stored;
END;

-- One row per page, kept short: a run reads all of them when it starts.
CREATE TABLE pages (
    number INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    host INTEGER NOT NULL REFERENCES hosts (number),
    importance REAL NOT NULL,
    depth INTEGER NOT NULL,
    source TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,
    last_visit INTEGER,
    etag TEXT,
    last_modified TEXT,
    fingerprint_kind TEXT,
    fingerprint BLOB,
    ignored BLOB,
    body BLOB REFERENCES bodies (digest),
    visits INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    streak INTEGER NOT NULL DEFAULT 0,
    not_modified INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    shape REAL,
    time REAL
);
-- Whether a body is still used is checked whenever a copy is replaced.
CREATE INDEX pages_body ON pages (body);

-- The response that a page's copy came from: apart from the page, because headers are long.
CREATE TABLE copies (
    page INTEGER PRIMARY KEY REFERENCES pages (number),
    url TEXT NOT NULL,
    status INTEGER NOT NULL,
    at INTEGER NOT NULL,
    headers BLOB NOT NULL,
    truncated INTEGER NOT NULL
);

-- Edits in order, for the current run. Serials are never reused.
CREATE TABLE edits (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    page INTEGER NOT NULL,
    kind INTEGER NOT NULL
);

-- A page as a record of the program.
CREATE VIEW known_pages AS
SELECT
    pages.number, url, hosts.name AS host, importance, depth, state, last_visit, etag,
    last_modified, fingerprint_kind, fingerprint, ignored, body, visits, changes, streak,
    not_modified, failures
FROM pages
JOIN hosts ON hosts.number = pages.host;

-- "rcrl": distinguishes a store from any other SQLite file.
PRAGMA application_id = 1919119980;
PRAGMA user_version = 1;
