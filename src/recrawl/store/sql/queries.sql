-- Every statement the store runs. Each has a name, and a line that says why it is there.

-- name: begin_write
-- Takes the right to write at once, so that a transaction never fails half way for want of it.
BEGIN IMMEDIATE;

-- name: begin_read
-- Lets several reads see the store as it is at one instant.
BEGIN;

-- name: commit
-- Makes a transaction last.
COMMIT;

-- name: rollback
-- Leaves the store as it was before a transaction.
ROLLBACK;

-- name: use_wal
-- Lets readers go on while one process writes; it is kept in the file.
PRAGMA journal_mode = WAL;

-- name: sync_fully
-- Even a power cut loses nothing acknowledged: one sync a commit, which many visits share.
PRAGMA synchronous = FULL;

-- name: widen_cache
-- Keeps 64 MB of the file at hand: addresses are looked up, and copies replaced, all over it.
PRAGMA cache_size = -65536;

-- name: checkpoint_rarely
-- Lets 32 MB gather before they are moved into the file: visits all over it share the moves.
PRAGMA wal_autocheckpoint = 8000;

-- name: enforce_references
-- A page without its body, or a visit without its page, is refused rather than kept.
PRAGMA foreign_keys = ON;

-- name: wait_longer
-- A run waits a minute for somebody who adds a million pages, rather than end.
PRAGMA busy_timeout = 60000;

-- name: checkpoint
-- Moves what is in the log into the file; without waiting for readers, who may be slow.
PRAGMA wal_checkpoint(PASSIVE);

-- name: application
-- Tells a store from any other SQLite file.
PRAGMA application_id;

-- name: version
-- Says which migrations a store has seen.
PRAGMA user_version;

-- name: tables
-- Tells an empty file, which may become a store, from somebody else's.
SELECT count(*) FROM sqlite_schema;

-- name: page_of
-- Finds the page with an address.
SELECT * FROM known_pages WHERE url = ?;

-- name: pages_numbered
-- Finds many pages at once; the numbers come as JSON, because statements have few parameters.
SELECT * FROM known_pages
WHERE number IN (SELECT value FROM json_each(?));

-- name: arriving
-- Holds pages to be added, so that the lock is taken only when all have been read.
CREATE TEMP TABLE IF NOT EXISTS arriving (
    place INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    host TEXT NOT NULL,
    importance REAL,
    depth INTEGER NOT NULL,
    source TEXT NOT NULL
);

-- name: arrive
-- A page that is named twice arrives once, with the last importance that was said.
INSERT INTO arriving (url, host, importance, depth, source) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET
    importance = coalesce(excluded.importance, importance),
    depth = min(depth, excluded.depth);

-- name: forget_arriving
-- Empties the waiting room.
DELETE FROM arriving;

-- name: add_hosts
-- New hosts are numbered in the order in which they are named.
INSERT INTO hosts (name)
SELECT host FROM arriving WHERE host NOT IN (SELECT name FROM hosts)
GROUP BY host ORDER BY min(place);

-- name: tell_revived
-- Lets a run know of pages that were given up and are wanted again.
INSERT INTO edits (page, kind)
SELECT number, :revived FROM arriving JOIN pages USING (url) WHERE state = :gone ORDER BY place;

-- name: revive
-- A page that was given up is visited again. What its copy was stays known.
UPDATE pages SET state = :back, failures = 0
FROM arriving WHERE arriving.url = pages.url AND pages.state = :gone;

-- name: tell_importance
-- Lets a run know of pages whose importance changes.
INSERT INTO edits (page, kind)
SELECT number, :importance FROM arriving JOIN pages USING (url)
WHERE arriving.importance <> pages.importance ORDER BY place;

-- name: change_importance
-- An importance that is said replaces the one before; none said (NULL) compares as unknown.
UPDATE pages SET importance = arriving.importance
FROM arriving WHERE arriving.url = pages.url AND arriving.importance <> pages.importance;

-- name: come_nearer
-- A page found through links that is then asked for is as near as it was asked for.
UPDATE pages SET depth = arriving.depth
FROM arriving WHERE arriving.url = pages.url AND arriving.depth < pages.depth;

-- name: add_pages
-- Numbers the pages that are new and adds them.
INSERT INTO pages (number, url, host, importance, depth, source, added_at)
SELECT
    (SELECT value FROM counters WHERE name = 'next_page') + row_number() OVER (ORDER BY place) - 1,
    url, hosts.number, coalesce(importance, 1.0), depth, source, :at
FROM arriving JOIN hosts ON hosts.name = arriving.host
WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.url = arriving.url)
ORDER BY place;

-- name: tell_added
-- Lets a run know of the pages just added: those with numbers not yet given.
INSERT INTO edits (page, kind)
SELECT number, :added FROM pages
WHERE number >= (SELECT value FROM counters WHERE name = 'next_page') ORDER BY number;

-- name: count_added
-- Gives the numbers away for good.
UPDATE counters SET value = value + ? WHERE name = 'next_page';

-- name: numbers_of
-- Finds the pages to remove, with their bodies; the addresses come as JSON.
SELECT number, body FROM pages WHERE url IN (SELECT value FROM json_each(?)) ORDER BY number;

-- name: forget_spending
-- Notes how much of what was spent the log will no longer show.
INSERT INTO spending (hour, forgotten_visits, forgotten_requests)
SELECT at / 3600000000 AS then_hour, count(*), sum(requests) FROM visits
WHERE page IN (SELECT value FROM json_each(?)) GROUP BY then_hour
ON CONFLICT (hour) DO UPDATE SET
    forgotten_visits = forgotten_visits + excluded.forgotten_visits,
    forgotten_requests = forgotten_requests + excluded.forgotten_requests;

-- name: remove_visits
-- A page's log goes with it.
DELETE FROM visits WHERE page IN (SELECT value FROM json_each(?));

-- name: remove_copies
-- So does what was said about its copy.
DELETE FROM copies WHERE page IN (SELECT value FROM json_each(?));

-- name: remove_pages
-- And the page.
DELETE FROM pages WHERE number IN (SELECT value FROM json_each(?));

-- name: tell_removed
-- Lets a run know of a page that is no longer wanted.
INSERT INTO edits (page, kind) VALUES (?, ?);

-- name: edits_since
-- Tells a run what others did meanwhile, so many edits at once.
SELECT serial, page, kind FROM edits WHERE serial > ? ORDER BY serial LIMIT ?;

-- name: last_serial
-- Says how far the edits go, also when those before a run have been forgotten.
SELECT seq FROM sqlite_sequence WHERE name = 'edits';

-- name: forget_edits
-- A run that starts reads all pages; nobody asks for older edits again.
DELETE FROM edits;

-- name: body_of_page
-- Says whether a visited page is still there, and what its copy was until now.
SELECT body FROM pages WHERE number = ?;

-- name: add_visit
-- A visit is in the log once: the same page at the same time changes nothing.
INSERT INTO visits (
    page, at, outcome, previous, status, signal, last_modified, bytes, ms, requests, truncated,
    sha1, mime, redirect, error
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (page, at) DO NOTHING;

-- name: update_page
-- Writes what a visit changes; not the importance and depth, which others may have edited.
UPDATE pages SET
    state = ?, last_visit = ?, etag = ?, last_modified = ?, fingerprint_kind = ?, fingerprint = ?,
    ignored = ?, body = ?, visits = ?, changes = ?, streak = ?, not_modified = ?, failures = ?,
    shape = coalesce(?, shape), time = coalesce(?, time)
WHERE number = ?;

-- name: add_body
-- A content that several pages have is stored once.
INSERT INTO bodies (digest, size, stored, deflated) VALUES (?, ?, ?, ?)
ON CONFLICT (digest) DO NOTHING;

-- name: drop_body
-- A content that is no page's copy any more goes at once.
DELETE FROM bodies
WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.body = ?1);

-- name: set_copy
-- Keeps the headers that came with a copy.
INSERT INTO copies (page, url, status, at, headers, truncated) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (page) DO UPDATE SET
    url = excluded.url, status = excluded.status, at = excluded.at, headers = excluded.headers,
    truncated = excluded.truncated;

-- name: drop_copy
-- A page may lose its copy.
DELETE FROM copies WHERE page = ?;

-- name: spend
-- Adds to what was spent in an hour.
INSERT INTO spending (
    hour, requests, lost, robots, sitemaps, first, changed, unchanged, failed, gone
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (hour) DO UPDATE SET
    requests = requests + excluded.requests, lost = lost + excluded.lost,
    robots = robots + excluded.robots, sitemaps = sitemaps + excluded.sitemaps,
    first = first + excluded.first, changed = changed + excluded.changed,
    unchanged = unchanged + excluded.unchanged, failed = failed + excluded.failed,
    gone = gone + excluded.gone;

-- name: spent_since
-- Adds up what was spent from an hour on.
SELECT
    coalesce(sum(requests + lost), 0), coalesce(sum(robots), 0), coalesce(sum(sitemaps), 0),
    coalesce(sum(first), 0), coalesce(sum(changed), 0), coalesce(sum(unchanged), 0),
    coalesce(sum(failed), 0), coalesce(sum(gone), 0)
FROM spending WHERE hour >= ?;

-- name: body
-- Finds a content.
SELECT deflated FROM bodies WHERE digest = ?;

-- name: copy_of
-- Finds how a page's copy came.
SELECT url, status, at, headers, truncated FROM copies WHERE page = ?;

-- name: pages_with_copy_after
-- Walks through the copies a few at a time, so that no reader holds up the log's checkpoints.
SELECT * FROM known_pages
WHERE number > ? AND body IS NOT NULL ORDER BY number LIMIT ?;

-- name: history
-- Shows a page's last visits.
SELECT
    at, outcome, previous, status, signal, last_modified, bytes, ms, requests, truncated, mime,
    redirect, error
FROM visits WHERE page = ? ORDER BY at DESC LIMIT ?;

-- name: visits_after
-- Walks through the log a batch at a time, for export and to learn from.
SELECT
    page, at, url, pages.importance, outcome, previous, status, signal, visits.last_modified,
    bytes, ms, requests, truncated, sha1, mime, redirect, error
FROM visits JOIN pages ON pages.number = visits.page
WHERE (page, at) > (?, ?) ORDER BY page, at LIMIT ?;

-- name: count_fleet
-- Says how much room the fleet needs.
SELECT count(*) FROM pages WHERE state <> ?;

-- name: fleet
-- Reads what a run must know of every page that is visited.
SELECT number, host, url, importance, shape, time, coalesce(last_visit, :no_time), failures
FROM pages WHERE state <> :gone ORDER BY number;

-- name: hosts
-- Gives hosts their names.
SELECT number, name FROM hosts ORDER BY number;

-- name: count_pages
-- Counts pages by state, and those with a copy.
SELECT
    count(*), coalesce(sum(state = 0), 0), coalesce(sum(state = 1), 0), coalesce(sum(state = 2), 0),
    count(body)
FROM pages;

-- name: count_visits
-- Counts the log without reading it.
SELECT coalesce(sum(first + changed + unchanged + failed + gone - forgotten_visits), 0)
FROM spending;

-- name: count_bodies
-- Counts contents, their bytes, and the bytes they take when deflated.
SELECT bodies, content_bytes, stored_bytes FROM stock;

-- name: remember_robots
-- Keeps a robots.txt over a restart.
INSERT INTO robots (origin, status, deflated, fetched_at, failing_since, problem, permanent)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE SET
    status = excluded.status, deflated = excluded.deflated, fetched_at = excluded.fetched_at,
    failing_since = excluded.failing_since, problem = excluded.problem,
    permanent = excluded.permanent;

-- name: recall_robots
-- Finds a robots.txt that was fetched before.
SELECT status, deflated, fetched_at, failing_since, problem, permanent
FROM robots WHERE origin = ?;

-- name: add_sitemap
-- A sitemap is read again and again; naming it twice changes nothing.
INSERT INTO sitemaps (url) VALUES (?) ON CONFLICT (url) DO NOTHING;

-- name: sitemaps_due
-- Finds sitemaps never read or not read for long, the longest first.
SELECT url, read_at, etag, last_modified, pages FROM sitemaps
WHERE read_at IS NULL OR read_at < ? ORDER BY read_at, url;

-- name: note_sitemap
-- Remembers what a sitemap said, so that it can be asked for only if it changed.
INSERT INTO sitemaps (read_at, etag, last_modified, pages, url) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET
    read_at = excluded.read_at, etag = excluded.etag, last_modified = excluded.last_modified,
    pages = excluded.pages;

-- name: meta
-- Finds a small thing to remember, such as the fleet's prior.
SELECT value FROM meta WHERE key = ?;

-- name: set_meta
-- Remembers a small thing.
INSERT INTO meta (key, value) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: integrity
-- Lets SQLite check the file's structure, indexes included.
PRAGMA integrity_check;

-- name: broken_references
-- Lets SQLite check that what is referred to is there.
PRAGMA foreign_key_check;

-- name: bodies_after
-- Walks through all contents to see that each is what its digest says.
SELECT digest, size, stored, deflated FROM bodies WHERE digest > ? ORDER BY digest LIMIT ?;

-- name: orphans
-- Finds contents that no page has.
SELECT digest FROM bodies
WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.body = bodies.digest);

-- name: torn_copies
-- Finds pages with a body but no headers of it, or the reverse.
SELECT number FROM pages LEFT JOIN copies ON copies.page = pages.number
WHERE (body IS NULL) <> (copies.page IS NULL);

-- name: wrong_counters
-- Finds hours in which what was counted and what the log shows differ.
WITH log AS (
    SELECT at / 3600000000 AS hour, count(*) AS visits, sum(requests) AS requests
    FROM visits GROUP BY 1
), hours AS (
    SELECT hour FROM log UNION SELECT hour FROM spending
)
SELECT
    hour, coalesce(first + changed + unchanged + failed + gone - forgotten_visits, 0) AS counted,
    coalesce(log.visits, 0)
FROM hours LEFT JOIN spending USING (hour) LEFT JOIN log USING (hour)
WHERE counted <> coalesce(log.visits, 0)
    OR coalesce(spending.requests - forgotten_requests, 0) <> coalesce(log.requests, 0);

-- name: wrong_stock
-- Sees whether what is noted about all contents is so.
SELECT stock.bodies, counted.bodies FROM stock, (
    SELECT
        count(*) AS bodies, coalesce(sum(size), 0) AS content, coalesce(sum(stored), 0) AS stored
    FROM bodies
) AS counted
WHERE (stock.bodies, content_bytes, stored_bytes)
    <> (counted.bodies, counted.content, counted.stored);

-- name: numbers_ahead
-- Finds pages whose number could be given again.
SELECT number FROM pages WHERE number >= (SELECT value FROM counters WHERE name = 'next_page');

-- name: belief
-- Says what is believed of one page.
SELECT shape, time FROM pages WHERE number = ?;

-- name: pages_at
-- Finds the pages that a sitemap names; the addresses come as JSON.
SELECT * FROM known_pages
WHERE url IN (SELECT value FROM json_each(?));

-- name: seed_hosts
-- Says which hosts were asked for, so that links are followed within them.
SELECT DISTINCT hosts.name FROM pages JOIN hosts ON hosts.number = pages.host
WHERE pages.depth = 0 ORDER BY hosts.name;

-- name: newest_visit
-- Says when a page was last found, so that a crawl begun anew does not begin with a burst.
SELECT max(last_visit) FROM pages;

-- name: observations
-- Gives what visits taught, of every so many-th page: priors are learned from a part of the log.
SELECT page, at - previous, outcome = :changed FROM visits
WHERE page % :stride = 0 AND outcome IN (:changed, :unchanged) AND previous < at
ORDER BY page, at;
