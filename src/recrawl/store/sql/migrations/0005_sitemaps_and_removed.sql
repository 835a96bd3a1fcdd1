-- When sitemaps are due, why they cannot be read and who named them; pages that are not to come back.

-- NULL: to be read at once.
ALTER TABLE sitemaps ADD COLUMN next_at INTEGER;
ALTER TABLE sitemaps ADD COLUMN tried_at INTEGER;
ALTER TABLE sitemaps ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sitemaps ADD COLUMN error TEXT;
ALTER TABLE sitemaps ADD COLUMN kind TEXT;
ALTER TABLE sitemaps ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
-- The index that names it, and the sitemap at the beginning of that chain; NULL for the first one.
ALTER TABLE sitemaps ADD COLUMN parent TEXT;
ALTER TABLE sitemaps ADD COLUMN root TEXT;
ALTER TABLE sitemaps ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE sitemaps ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
-- Kept so that an index or a robots.txt does not bring it back.
ALTER TABLE sitemaps ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

-- Pages that a user removed, so that sitemaps and links do not bring them back.
CREATE TABLE removed (
    url TEXT PRIMARY KEY
) WITHOUT ROWID;

PRAGMA user_version = 5;
