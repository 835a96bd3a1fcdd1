-- How large changes are, what is suspected of changing without meaning, and the templates of sites.

-- NULL: nothing is suspected.
ALTER TABLE pages ADD COLUMN suspects BLOB;

-- How the page differed from its copy: 0 text, 1 links, 2 furniture, and the share of its own text.
-- NULL where it did not, where nobody knows, and for visits of older versions.
ALTER TABLE visits ADD COLUMN change_kind INTEGER;
ALTER TABLE visits ADD COLUMN change_share REAL;

-- What the pages of a host have in common, as bytes; at most 20 kB each.
CREATE TABLE templates (
    host TEXT PRIMARY KEY,
    template BLOB NOT NULL
);

DROP VIEW known_pages;
CREATE VIEW known_pages AS
SELECT
    pages.number, url, hosts.name AS host, importance, depth, state, last_visit, etag,
    last_modified, fingerprint_kind, fingerprint, ignored, suspects, body, visits, changes, streak,
    not_modified, failures, missing_since, retry_at, reason
FROM pages
JOIN hosts ON hosts.number = pages.host;

PRAGMA user_version = 7;
