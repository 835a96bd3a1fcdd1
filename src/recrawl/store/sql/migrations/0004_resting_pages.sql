-- Pages that are missing, gone or refused: since when, until when, and why.

ALTER TABLE pages ADD COLUMN missing_since INTEGER;
ALTER TABLE pages ADD COLUMN retry_at INTEGER;
ALTER TABLE pages ADD COLUMN reason TEXT;

-- Pages that were retired before are looked at again too, at the next run.
UPDATE pages SET missing_since = coalesce(last_visit, added_at), retry_at = 0 WHERE state = 2;

-- Both indexes hold only pages in trouble, so that a visit to any other costs nothing more.
CREATE INDEX pages_retry ON pages (retry_at) WHERE retry_at IS NOT NULL;
CREATE INDEX pages_trouble ON pages (state, failures, host) WHERE state <> 0 OR failures > 0;

DROP VIEW known_pages;
CREATE VIEW known_pages AS
SELECT
    pages.number, url, hosts.name AS host, importance, depth, state, last_visit, etag,
    last_modified, fingerprint_kind, fingerprint, ignored, body, visits, changes, streak,
    not_modified, failures, missing_since, retry_at, reason
FROM pages
JOIN hosts ON hosts.number = pages.host;

PRAGMA user_version = 4;
