-- How a crawl went: the freshness of its copies and what visits found, by minute, hour and day.

-- A row is overwritten when its slot comes round again, so that there are never more. The span is
-- in seconds, the freshness a mean over the samples in it, the counts are sums.
CREATE TABLE samples (
    span INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    at INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    freshness REAL,
    due INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    unchanged INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (span, slot)
) WITHOUT ROWID;

PRAGMA user_version = 13;
