-- What was learned about hosts and folders beside their pages: how far sitemaps are trusted, and how
-- active neighbours have been. A run begins with what the one before knew.
CREATE TABLE learned (
    what TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (what, name)
) WITHOUT ROWID;

PRAGMA user_version = 6;
