-- Copies that were replaced by a change, as many of each page as are kept.

-- The response that the copy came from, as in copies, and when it was replaced.
CREATE TABLE versions (
    page INTEGER NOT NULL REFERENCES pages (number),
    until INTEGER NOT NULL,
    url TEXT NOT NULL,
    status INTEGER NOT NULL,
    at INTEGER NOT NULL,
    headers BLOB NOT NULL,
    truncated INTEGER NOT NULL,
    body BLOB NOT NULL REFERENCES bodies (digest),
    PRIMARY KEY (page, until)
) WITHOUT ROWID;
-- Whether a body is still used is checked whenever one is replaced.
CREATE INDEX versions_body ON versions (body);
-- Those that are too old are looked for while visits are written.
CREATE INDEX versions_until ON versions (until);

PRAGMA user_version = 9;
