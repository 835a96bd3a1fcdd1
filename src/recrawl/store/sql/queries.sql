-- Every statement the store runs, each with a name and its purpose.

-- name: begin_write
-- Take the write lock at once, so that a transaction never fails halfway for lack of it.
BEGIN IMMEDIATE;

-- name: begin_read
-- Let several reads see the same state of the store.
BEGIN;

-- name: commit
-- Make a transaction durable.
COMMIT;

-- name: rollback
-- Undo a transaction.
ROLLBACK;

-- name: use_wal
-- Let readers continue while one process writes; the mode is stored in the file.
PRAGMA journal_mode = WAL;

-- name: sync_fully
-- Lose nothing acknowledged even in a power cut: one sync per commit, shared by many visits.
PRAGMA synchronous = FULL;

-- name: has_power
-- Check whether this SQLite was built with mathematical functions.
SELECT 1 FROM pragma_function_list WHERE name = 'pow';

-- name: widen_cache
-- Cache 64 MB of the file: URLs are looked up, and copies replaced, all over it.
PRAGMA cache_size = -65536;

-- name: narrow_cache
-- Cache 8 MB of the file: a crawl reads and writes a few pages at a time, for months.
PRAGMA cache_size = -8192;

-- name: checkpoint_rarely
-- Let the write-ahead log grow to 32 MB before a checkpoint, so that many visits share one.
PRAGMA wal_autocheckpoint = 8000;

-- name: ignore_references
-- Let a migration replace a table.
PRAGMA foreign_keys = OFF;

-- name: enforce_references
-- Refuse a page without its body and a visit without its page.
PRAGMA foreign_keys = ON;

-- name: wait_longer
-- Let a run wait a minute, rather than fail, while another process adds a million pages.
PRAGMA busy_timeout = 60000;

-- name: checkpoint
-- Checkpoint the write-ahead log without waiting for readers, which may be slow.
PRAGMA wal_checkpoint(PASSIVE);

-- name: application
-- Distinguish a store from any other SQLite file.
PRAGMA application_id;

-- name: version
-- Read the version of a store: the number of migrations applied.
PRAGMA user_version;

-- name: tables
-- Distinguish an empty file, which may become a store, from another program's database.
SELECT count(*) FROM sqlite_schema;

-- name: page_of
-- Find the page with a URL.
SELECT * FROM known_pages WHERE url = ?;

-- name: pages_numbered
-- Find many pages by number, passed as JSON because the number of parameters is limited.
SELECT * FROM known_pages
WHERE number IN (SELECT value FROM json_each(?));

-- name: asked_among
-- Find those of many pages that a user asked for; their numbers are passed as JSON.
SELECT number FROM pages
WHERE number IN (SELECT value FROM json_each(?)) AND source IN ('user', 'sitemap');

-- name: any_removed
-- Check whether any page was removed, before looking up a million.
SELECT EXISTS (SELECT 1 FROM removed);

-- name: any_pages
-- Check whether there are pages, before looking up a million.
SELECT EXISTS (SELECT 1 FROM pages);

-- name: forget_removed
-- Forget that pages were removed, when a user adds them again; their URLs are passed as JSON.
DELETE FROM removed WHERE url IN (SELECT value FROM json_each(?));

-- name: removed_among
-- Find removed pages, which a sitemap or a link must not bring back; the URLs are passed as JSON.
SELECT url FROM removed WHERE url IN (SELECT value FROM json_each(?));

-- name: known_among
-- Find which of some pages are known, and what adding them may change; passed as JSON.
SELECT url, number, state, importance, depth FROM pages
WHERE url IN (SELECT value FROM json_each(?));

-- name: hosts_among
-- Find the numbers of hosts; their names are passed as JSON.
SELECT name, number FROM hosts WHERE name IN (SELECT value FROM json_each(?));

-- name: add_host
-- Number a new host.
INSERT INTO hosts (name) VALUES (?);

-- name: revive
-- Schedule a page that was gone or refused to be visited again; its copy is kept.
UPDATE pages SET
    state = ?, failures = 0, missing_since = NULL, retry_at = NULL, reason = NULL
WHERE number = ?;

-- name: set_importance
-- Replace the importance of a page.
UPDATE pages SET importance = ? WHERE number = ?;

-- name: lower_depth
-- Keep the smallest depth at which a page was found.
UPDATE pages SET depth = ? WHERE number = ?;

-- name: next_page
-- Find the number of the next new page.
SELECT value FROM counters WHERE name = 'next_page';

-- name: add_page
-- Add a new page.
INSERT INTO pages (number, url, host, importance, depth, source, added_at)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: add_ten_pages
-- Add ten new pages, in little more than half the time of ten single ones.
INSERT INTO pages (number, url, host, importance, depth, source, added_at)
VALUES
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?),
    (?, ?, ?, ?, ?, ?, ?);

-- name: count_added
-- Count new pages of a host, none of them visited.
INSERT INTO host_pages (host, pages, unvisited) VALUES (?1, ?2, ?2)
ON CONFLICT (host) DO UPDATE SET
    pages = pages + excluded.pages, unvisited = unvisited + excluded.unvisited;

-- name: drop_url_index
-- Drop the index of URLs to add very many pages without updating it for each.
DROP INDEX pages_url;

-- name: build_url_index
-- Rebuild the index of URLs, in one sort.
CREATE UNIQUE INDEX pages_url ON pages (url);

-- name: log_added
-- Tell a run about the pages just added.
INSERT INTO edits (page, kind)
SELECT number, :added FROM pages
WHERE number >= (SELECT value FROM counters WHERE name = 'next_page') ORDER BY number;

-- name: advance_next_page
-- Use up the numbers, so that they are never assigned again.
UPDATE counters SET value = value + ? WHERE name = 'next_page';

-- name: numbers_of
-- Find the pages to remove and their bodies; the URLs are passed as JSON.
SELECT number, body FROM pages WHERE url IN (SELECT value FROM json_each(?)) ORDER BY number;

-- name: urls_from
-- Find the pages whose URL begins with a text, to compare them with a pattern.
SELECT url FROM pages WHERE url >= ?1 AND url < ?2 ORDER BY url;

-- name: note_removed
-- Remember removed pages, so that sitemaps and links do not bring them back.
INSERT INTO removed (url)
SELECT url FROM pages WHERE number IN (SELECT value FROM json_each(?))
ON CONFLICT (url) DO NOTHING;

-- name: count_removed_visits
-- Count the requests and visits that the log will no longer show.
INSERT INTO spending (hour, forgotten_visits, forgotten_requests)
SELECT at / 3600000000 AS then_hour, count(*), sum(requests) FROM visits
WHERE page IN (SELECT value FROM json_each(?)) GROUP BY then_hour
ON CONFLICT (hour) DO UPDATE SET
    forgotten_visits = forgotten_visits + excluded.forgotten_visits,
    forgotten_requests = forgotten_requests + excluded.forgotten_requests;

-- name: remove_visits
-- Delete the log of removed pages.
DELETE FROM visits WHERE page IN (SELECT value FROM json_each(?));

-- name: remove_copies
-- Delete the headers of their copies.
DELETE FROM copies WHERE page IN (SELECT value FROM json_each(?));

-- name: remove_pages
-- Delete the pages.
DELETE FROM pages WHERE number IN (SELECT value FROM json_each(?));

-- name: log_edit
-- Tell a run about an edit to a page.
INSERT INTO edits (page, kind) VALUES (?, ?);

-- name: edits_since
-- Read the edits of others, a batch at a time.
SELECT serial, page, kind FROM edits WHERE serial > ? ORDER BY serial LIMIT ?;

-- name: last_serial
-- Find the latest serial, even if older edits have been deleted.
SELECT seq FROM sqlite_sequence WHERE name = 'edits';

-- name: forget_edits
-- Delete old edits when a run starts: it reads all pages anyway.
DELETE FROM edits;

-- name: pages_before
-- Find what is known about visited pages that still exist; page numbers and times of visits are
-- passed as JSON.
SELECT
    number, body, feed_state, state = 0 AND failures = 0 AND retry_at IS NULL,
    visits.at IS NOT NULL
FROM json_each(?) AS given CROSS JOIN pages ON number = CAST(given.key AS INTEGER)
LEFT JOIN visits ON visits.page = number AND visits.at = given.value;

-- name: add_visit
-- Log a visit once: a second one to the same page at the same time changes nothing.
INSERT INTO visits (
    page, at, outcome, previous, status, signal, last_modified, bytes, ms, requests, truncated,
    sha1, mime, redirect, error, change_kind, change_share
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (page, at) DO NOTHING;

-- name: update_page
-- Write what a visit changes, but not importance and depth, which others may have edited.
UPDATE pages SET
    state = ?, body = ?, failures = ?, retry_at = ?, feed_state = ?,
    last_visit = ?, etag = ?, last_modified = ?, fingerprint_kind = ?, fingerprint = ?,
    ignored = ?, suspects = ?, visits = ?, changes = ?, streak = ?, not_modified = ?,
    missing_since = ?, reason = ?,
    shape = coalesce(?, shape), time = coalesce(?, time), octaves = coalesce(?, octaves)
WHERE number = ?;

-- name: update_steady_page
-- Write what a visit changes if state and body stay the same, and therefore all indexes.
UPDATE pages SET
    last_visit = ?, etag = ?, last_modified = ?, fingerprint_kind = ?, fingerprint = ?,
    ignored = ?, suspects = ?, visits = ?, changes = ?, streak = ?, not_modified = ?,
    missing_since = ?, reason = ?,
    shape = coalesce(?, shape), time = coalesce(?, time), octaves = coalesce(?, octaves)
WHERE number = ?;

-- name: add_body
-- Store a body once, however many pages have it.
INSERT INTO bodies (digest, size, stored, deflated) VALUES (?, ?, ?, ?)
ON CONFLICT (digest) DO NOTHING;

-- name: drop_body
-- Delete a body as soon as no page and no version uses it.
DELETE FROM bodies
WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.body = ?1)
    AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.body = ?1);

-- name: add_version
-- Keep a copy that is replaced by a change.
INSERT INTO versions (page, until, url, status, at, headers, truncated, body)
SELECT page, ?, url, status, at, headers, truncated, ? FROM copies WHERE page = ?;

-- name: changed_at
-- Find when a page was last found to have changed.
SELECT max(at) FROM visits WHERE page = ? AND outcome IN (?, ?);

-- name: versions_of
-- Find the copies of a page that were replaced, the latest first.
SELECT url, status, at, headers, truncated, body FROM versions
WHERE page = ? ORDER BY until DESC;

-- name: versions_above
-- Find excess versions of a page.
SELECT page, until, body FROM versions WHERE page = ? ORDER BY until DESC LIMIT -1 OFFSET ?;

-- name: versions_before
-- Find versions that are too old.
SELECT page, until, body FROM versions WHERE until < ? ORDER BY until LIMIT ?;

-- name: drop_version
-- Delete a version; its body is dropped separately.
DELETE FROM versions WHERE page = ? AND until = ?;

-- name: version_bodies_of
-- Find the versions of pages to remove; their numbers are passed as JSON.
SELECT page, until, body FROM versions WHERE page IN (SELECT value FROM json_each(?));

-- name: add_change
-- Add a change of a page to the feed.
INSERT INTO changes (page, url, kind, at, previous, before, after, share, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_removals
-- Add removals of pages to the feed, if it has the pages; their numbers are passed as JSON.
INSERT INTO changes (page, url, kind, at, previous, before)
SELECT number, url, :removed, :at, last_visit, body FROM pages
WHERE number IN (SELECT value FROM json_each(:pages)) AND feed_state <> 0 ORDER BY number;

-- name: feed_bounds
-- Find the first and the last change that are kept.
SELECT
    (SELECT min(serial) FROM changes),
    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'changes'), 0);

-- name: feed_after
-- Read the feed a batch at a time.
SELECT serial, page, url, kind, at, previous, before, after, share, reason
FROM changes WHERE serial > ? ORDER BY serial LIMIT ?;

-- name: feed_pages
-- Read the existing pages, for new readers.
SELECT number, pages.url, coalesce(copies.at, last_visit, added_at), body
FROM pages LEFT JOIN copies ON copies.page = pages.number
WHERE number >= ? AND feed_state = ? ORDER BY number LIMIT ?;

-- name: count_feed_pages
-- Count the pages that a reader who knows nothing has yet to be told of.
SELECT count(*) FROM pages WHERE number >= ? AND feed_state = ?;

-- name: feed_before
-- Find the serial before the first change that was found at a time or later.
SELECT serial - 1 FROM changes WHERE at >= ? ORDER BY serial LIMIT 1;

-- name: first_change_to_keep
-- Find the first of some changes that is not too old.
SELECT min(serial) FROM changes WHERE serial <= ? AND at >= ?;

-- name: drop_changes
-- Drop old changes.
DELETE FROM changes WHERE serial < ?;

-- name: set_copy
-- Save the headers of a copy.
INSERT INTO copies (page, url, status, at, headers, truncated, no_text)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (page) DO UPDATE SET
    url = excluded.url, status = excluded.status, at = excluded.at, headers = excluded.headers,
    truncated = excluded.truncated, no_text = excluded.no_text;

-- name: drop_copy
-- Delete the headers of a copy that is no longer kept.
DELETE FROM copies WHERE page = ?;

-- name: add_spending
-- Add to the counts of an hour.
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
-- Add up the counts since an hour.
SELECT
    coalesce(sum(requests + lost), 0), coalesce(sum(robots), 0), coalesce(sum(sitemaps), 0),
    coalesce(sum(first), 0), coalesce(sum(changed), 0), coalesce(sum(unchanged), 0),
    coalesce(sum(failed), 0), coalesce(sum(gone), 0)
FROM spending WHERE hour >= ?;

-- name: body
-- Find a body.
SELECT deflated, size FROM bodies WHERE digest = ?;

-- name: copy_of
-- Find the headers of a page's copy.
SELECT url, status, at, headers, truncated FROM copies WHERE page = ?;

-- name: pages_with_copy_after
-- List copies a few at a time, so that no reader holds up checkpoints.
SELECT * FROM known_pages
WHERE number > ? AND body IS NOT NULL ORDER BY number LIMIT ?;

-- name: history
-- Find a page's latest visits.
SELECT
    at, outcome, previous, status, signal, last_modified, bytes, ms, requests, truncated, mime,
    redirect, error, change_kind, change_share
FROM visits WHERE page = ? ORDER BY at DESC LIMIT ?;

-- name: visits_after
-- Read the log a batch at a time, for exports.
SELECT
    page, at, url, pages.importance, outcome, previous, status, signal, visits.last_modified,
    bytes, ms, requests, truncated, sha1, mime, redirect, error, change_kind, change_share
FROM visits JOIN pages ON pages.number = visits.page
WHERE (page, at) > (?, ?) ORDER BY page, at LIMIT ?;

-- name: count_fleet
-- Count the pages to visit, to allocate arrays for them.
SELECT count(*) FROM pages WHERE state NOT IN (?, ?);

-- name: fleet
-- Read what a run needs to know about every page to visit.
SELECT
    number, host, url, importance, shape, time, coalesce(last_visit, :no_time), failures,
    source IN ('user', 'sitemap'), octaves
FROM pages WHERE state NOT IN (:gone, :refused) ORDER BY number;

-- name: outlook
-- Read what determines the freshness and the next visit of every page to visit.
SELECT
    number, host, importance, coalesce(shape, 0.0), coalesce(time, 0.0),
    coalesce(last_visit, :no_time), failures, octaves
FROM pages WHERE state NOT IN (:gone, :refused) ORDER BY number;

-- name: outlook_of
-- Read the same for some pages only; their numbers are passed as JSON.
SELECT
    number, host, importance, coalesce(shape, 0.0), coalesce(time, 0.0),
    coalesce(last_visit, :no_time), failures, octaves
FROM json_each(:pages) AS wanted CROSS JOIN pages ON number = wanted.value
WHERE state NOT IN (:gone, :refused);

-- name: hosts
-- Find the names of hosts.
SELECT number, name FROM hosts ORDER BY number;

-- name: count_pages
-- Count pages, and those to visit that were never found, from running totals, and those with a copy,
-- from an index alone.
SELECT
    (SELECT coalesce(sum(pages), 0) FROM host_pages),
    (SELECT count(*) FROM pages WHERE body IS NOT NULL),
    (SELECT coalesce(sum(unvisited), 0) FROM host_pages);

-- name: count_trouble
-- Count pages that are missing, gone, refused or failing, from their index alone.
SELECT
    coalesce(sum(state = 1), 0), coalesce(sum(state = 2), 0), coalesce(sum(state = 3), 0),
    coalesce(sum(state = 0), 0)
FROM pages WHERE state <> 0 OR failures > 0;

-- name: count_reasons
-- Count refused pages by reason, using the index of pages in trouble.
SELECT coalesce(reason, ''), count(*) FROM pages
WHERE (state <> 0 OR failures > 0) AND state = 3
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?;

-- name: resting_until
-- Find pages to check again, the longest overdue first.
SELECT number FROM pages WHERE retry_at <= ? ORDER BY retry_at, number LIMIT ?;

-- name: wake
-- Schedule pages to be visited again. If the run ends before that, they are checked again later.
UPDATE pages SET
    state = CASE state WHEN :gone THEN :missing WHEN :refused THEN :alive ELSE state END,
    retry_at = :again, reason = NULL
WHERE number IN (SELECT value FROM json_each(:pages));

-- name: log_allowed
-- Tell a run about pages that robots.txt refused, now that it has changed.
INSERT INTO edits (page, kind)
SELECT number, :revived FROM pages
WHERE state = :refused AND reason = :reason AND url >= :first AND url < :end ORDER BY number;

-- name: allow
-- Schedule pages that the previous robots.txt refused to be visited again.
UPDATE pages SET state = :alive, retry_at = NULL, reason = NULL
WHERE state = :refused AND reason = :reason AND url >= :first AND url < :end;

-- name: allow_private
-- Schedule pages that were refused for their private address to be visited again.
UPDATE pages SET state = :alive, retry_at = NULL, reason = NULL
WHERE state = :refused AND instr(reason, :reason) > 0;

-- name: refused_after
-- Read why pages are refused, a batch at a time, for exports.
SELECT number, url, reason FROM pages WHERE state = ? AND number > ? ORDER BY number LIMIT ?;

-- name: count_visits
-- Count the rows of the log without reading it.
SELECT coalesce(sum(first + changed + unchanged + failed + gone - forgotten_visits), 0)
FROM spending;

-- name: count_bodies
-- Count bodies, their bytes, and their bytes as stored.
SELECT bodies, content_bytes, stored_bytes FROM stock;

-- name: remember_robots
-- Keep a robots.txt across restarts.
INSERT INTO robots (origin, status, deflated, fetched_at, failing_since, problem, permanent)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE SET
    status = excluded.status, deflated = excluded.deflated, fetched_at = excluded.fetched_at,
    failing_since = excluded.failing_since, problem = excluded.problem,
    permanent = excluded.permanent;

-- name: recall_robots
-- Find a saved robots.txt.
SELECT status, deflated, fetched_at, failing_since, problem, permanent
FROM robots WHERE origin = ?;

-- name: add_sitemap
-- Add a sitemap for a user, or schedule a known or removed one to be read at once.
INSERT INTO sitemaps (url, host) VALUES (?, ?)
ON CONFLICT (url) DO UPDATE SET
    next_at = NULL, removed = 0, parent = NULL, root = NULL, depth = 0, host = excluded.host;

-- name: name_sitemap
-- Add a sitemap that an index or a robots.txt names; a known or removed one is left alone.
INSERT INTO sitemaps (url, host, parent, root, depth) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (url) DO NOTHING;

-- name: sitemap_counts
-- Count sitemaps by host and by index, to limit both.
SELECT host, root, count(*) FROM sitemaps WHERE removed = 0 GROUP BY host, root;

-- name: has_sitemap
-- Check that a sitemap was not removed while it was read.
SELECT 1 FROM sitemaps WHERE url = ? AND removed = 0;

-- name: drop_unnamed_sitemaps
-- Delete sitemaps that their index no longer names, with those that they named; the URLs are passed
-- as JSON.
WITH RECURSIVE unnamed (url) AS (
    SELECT url FROM sitemaps
    WHERE parent = ? AND removed = 0 AND url NOT IN (SELECT value FROM json_each(?))
    UNION
    SELECT sitemaps.url FROM sitemaps JOIN unnamed ON sitemaps.parent = unnamed.url
    WHERE removed = 0
)
DELETE FROM sitemaps WHERE url IN (SELECT url FROM unnamed);

-- name: sitemaps_due
-- Find sitemaps to read: those that users added first, then the longest overdue. One that was tried
-- in the future is due: the clock was ahead then.
SELECT
    url, read_at, etag, last_modified, pages, tried_at, next_at, failures, error, kind, skipped,
    root, host, depth
FROM sitemaps
WHERE removed = 0 AND (next_at IS NULL OR next_at <= ?1 OR tried_at > ?1)
ORDER BY depth, next_at, url LIMIT ?2;

-- name: sitemaps
-- List sitemaps, those that cannot be read first.
SELECT
    url, read_at, etag, last_modified, pages, tried_at, next_at, failures, error, kind, skipped,
    root, host, depth
FROM sitemaps WHERE removed = 0 ORDER BY error IS NULL, depth, url;

-- name: note_sitemap
-- Save what reading a sitemap found, unless it was removed meanwhile.
UPDATE sitemaps SET
    read_at = ?, etag = ?, last_modified = ?, pages = ?, tried_at = ?, next_at = ?, failures = ?,
    error = ?, kind = ?, skipped = ?
WHERE url = ? AND removed = 0;

-- name: retry_sitemaps
-- Schedule sitemaps that cannot be read to be retried when a run starts.
UPDATE sitemaps SET next_at = NULL WHERE error IS NOT NULL;

-- name: reread_sitemaps
-- Schedule all sitemaps to be read again in full, when the URL patterns have changed.
UPDATE sitemaps SET next_at = NULL, etag = NULL, last_modified = NULL;

-- name: remove_sitemap
-- Mark a sitemap as removed.
UPDATE sitemaps SET removed = 1 WHERE url = ? AND removed = 0;

-- name: remove_sitemaps_of
-- Delete the sitemaps that a removed one listed.
DELETE FROM sitemaps WHERE root = ?1 OR parent = ?1;

-- name: sitemap_requests
-- Find in which hours sitemaps were requested, to limit their number per day.
SELECT hour, sitemaps FROM spending WHERE hour >= ? AND sitemaps > 0 ORDER BY hour;

-- name: meta
-- Find a small value, such as the price of a visit.
SELECT value FROM meta WHERE key = ?;

-- name: set_meta
-- Save a small value.
INSERT INTO meta (key, value) VALUES (?, ?)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: vacuum
-- Rewrite the file without unused space.
VACUUM;

-- name: file_pages
-- Find the size of the file in pages of SQLite.
PRAGMA page_count;

-- name: free_pages
-- Find how much of the file is unused.
PRAGMA freelist_count;

-- name: page_bytes
-- Find the size of one of SQLite's pages.
PRAGMA page_size;

-- name: truncate_wal
-- Checkpoint the write-ahead log, and truncate it.
PRAGMA wal_checkpoint(TRUNCATE);

-- name: integrity
-- Let SQLite check the file's structure, indexes included.
PRAGMA integrity_check;

-- name: broken_references
-- Let SQLite check that no reference is broken.
PRAGMA foreign_key_check;

-- name: bodies_after
-- Read all bodies, to check each against its digest.
SELECT digest, size, stored, deflated FROM bodies WHERE digest > ? ORDER BY digest LIMIT ?;

-- name: orphans
-- Find bodies that no page and no version uses.
SELECT digest FROM bodies
WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.body = bodies.digest)
    AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.body = bodies.digest);

-- name: torn_copies
-- Find pages with a body but no headers, or the reverse.
SELECT number FROM pages LEFT JOIN copies ON copies.page = pages.number
WHERE (body IS NULL) <> (copies.page IS NULL);

-- name: wrong_counters
-- Find hours whose counts differ from the log.
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
-- Compare the totals of all bodies with the bodies.
SELECT stock.bodies, counted.bodies FROM stock, (
    SELECT
        count(*) AS bodies, coalesce(sum(size), 0) AS content, coalesce(sum(stored), 0) AS stored
    FROM bodies
) AS counted
WHERE (stock.bodies, content_bytes, stored_bytes)
    <> (counted.bodies, counted.content, counted.stored);

-- name: wrong_host_counts
-- Compare the pages counted by host with the pages.
SELECT hosts.name, coalesce(host_pages.pages, 0), coalesce(counted.pages, 0)
FROM hosts LEFT JOIN host_pages ON host_pages.host = hosts.number LEFT JOIN (
    SELECT host, count(*) AS pages, sum(last_visit IS NULL AND state < 2) AS unvisited
    FROM pages GROUP BY host
) AS counted ON counted.host = hosts.number
WHERE (coalesce(host_pages.pages, 0), coalesce(host_pages.unvisited, 0))
    <> (coalesce(counted.pages, 0), coalesce(counted.unvisited, 0));

-- name: numbers_ahead
-- Find pages whose number could be assigned again.
SELECT number FROM pages WHERE number >= (SELECT value FROM counters WHERE name = 'next_page');

-- name: belief
-- Find the belief about one page.
SELECT shape, time FROM pages WHERE number = ?;

-- name: beliefs
-- Find the beliefs about some pages; their numbers are passed as JSON.
SELECT number, shape, time FROM pages
WHERE number IN (SELECT value FROM json_each(?)) AND shape IS NOT NULL;

-- name: evidence
-- Find the evidence about some pages; their numbers are passed as JSON.
SELECT number, octaves FROM pages WHERE number IN (SELECT value FROM json_each(?));

-- name: pages_at
-- Find the pages that a sitemap lists, or a site says have changed; the URLs are passed as JSON.
SELECT * FROM known_pages
WHERE url IN (SELECT value FROM json_each(?));

-- name: seed_hosts
-- Find the hosts of pages that users added, within which links are followed.
SELECT DISTINCT hosts.name FROM pages JOIN hosts ON hosts.number = pages.host
WHERE pages.depth = 0 ORDER BY hosts.name;

-- name: seed_pages
-- Find a page of each host for which a user added pages.
SELECT min(url) FROM pages WHERE depth = 0 GROUP BY host ORDER BY host LIMIT ?;

-- name: newest_visit
-- Find when a page was last found, so that a restarted crawl does not start with a burst.
SELECT max(last_visit) FROM pages;

-- name: observations
-- Read the observations of every n-th page: a sample is enough to learn priors from.
SELECT page, at - previous, outcome = :changed FROM visits
WHERE page % :stride = 0 AND outcome IN (:changed, :unchanged) AND previous < at
ORDER BY page, at;

-- name: page_columns
-- Read numeric columns of pages, to filter and sort them without their texts; NULL for all pages.
SELECT
    number, host, state, coalesce(last_visit, :no_time), failures, visits, changes,
    coalesce(retry_at, :no_time), importance, coalesce(shape, 0.0), coalesce(time, 0.0), octaves
FROM pages
WHERE (:hosts IS NULL OR host IN (
        SELECT hosts.number FROM json_each(:hosts) JOIN hosts ON hosts.name = value
    ))
    AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
ORDER BY number;

-- name: page_columns_in_trouble
-- Read the same for pages that are failing or not alive, using their index.
SELECT
    number, host, state, coalesce(last_visit, :no_time), failures, visits, changes,
    coalesce(retry_at, :no_time), importance, coalesce(shape, 0.0), coalesce(time, 0.0), octaves
FROM pages INDEXED BY pages_trouble
WHERE (state <> 0 OR failures > 0)
    AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
    AND (:failing IS NULL OR failures > 0)
ORDER BY number;

-- name: page_columns_due
-- Read the same for pages that can be due by a time. The bound on the value of a visit is cheap, and
-- avoids computing the power for most pages; see `DueBy`.
SELECT
    number, host, state, coalesce(last_visit, :no_time), failures, visits, changes,
    coalesce(retry_at, :no_time), importance, coalesce(shape, 0.0), coalesce(time, 0.0), octaves
FROM pages
WHERE last_visit IS NULL OR retry_at <= :at OR last_visit <= :at - :max_interval
    OR last_visit <= :at
    AND (:at - last_visit)
        * (importance * shape * (:at - last_visit) - :price * (shape + 1.0))
        >= 2.0 * :price * :day * time
    AND :day * importance * time * (
        abs(1.0 - (1.0 + shape * (:at - last_visit) / (:day * time))
            * pow(1.0 + (:at - last_visit) / (:day * time), -shape))
        + :slack * (shape + 1.0)
    ) >= :price * abs(shape - 1.0)
ORDER BY number;

-- name: page_columns_of
-- Read the same for some pages; their numbers are passed as JSON.
SELECT
    number, host, state, coalesce(last_visit, :no_time), failures, visits, changes,
    coalesce(retry_at, :no_time), importance, coalesce(shape, 0.0), coalesce(time, 0.0), octaves
FROM json_each(:pages) AS wanted CROSS JOIN pages ON number = wanted.value
ORDER BY wanted.key;

-- name: first_added
-- Find the pages that were added first.
SELECT number FROM pages ORDER BY number LIMIT ?;

-- name: last_added
-- Find the pages that were added last, the last one first.
SELECT number FROM pages ORDER BY number DESC LIMIT ?;

-- name: first_by_url
-- Find the first pages in order of URL, from the index alone.
SELECT number FROM pages ORDER BY url LIMIT ?;

-- name: last_by_url
-- Find the last pages in order of URL, from the index alone.
SELECT number FROM pages ORDER BY url DESC LIMIT ?;

-- name: count_all_pages
-- Count pages, from running totals.
SELECT coalesce(sum(pages), 0) FROM host_pages;

-- name: numbers_by_url
-- Sort pages by URL, from the index alone.
SELECT number FROM pages ORDER BY url;

-- name: urls_of
-- Find the URLs of some pages, and whether their copies have next to no text; their numbers are
-- passed as JSON.
SELECT number, pages.url, coalesce(no_text, 0)
FROM pages LEFT JOIN copies ON copies.page = number
WHERE number IN (SELECT value FROM json_each(?));

-- name: no_text_of
-- Check whether the copy of a page has next to no text.
SELECT no_text FROM copies WHERE page = ?;

-- name: last_answers
-- Find how the last visit to each of some pages ended, or why they are refused; their numbers are
-- passed as JSON.
SELECT
    number, visits.status,
    CASE state WHEN 3 THEN coalesce(reason, visits.error) ELSE visits.error END
FROM json_each(?) AS wanted CROSS JOIN pages ON number = wanted.value
LEFT JOIN visits ON visits.page = number AND visits.at = (
    SELECT max(newest.at) FROM visits AS newest WHERE newest.page = number
);

-- name: last_visits
-- Find when the last visit to each of some pages was, and how it ended; their numbers are passed as
-- JSON.
SELECT page, at, outcome, status
FROM json_each(?) AS wanted CROSS JOIN visits ON page = wanted.value AND at = (
    SELECT max(newest.at) FROM visits AS newest WHERE newest.page = wanted.value
);

-- name: set_template
-- Save the template of a host's pages.
INSERT INTO templates (host, template) VALUES (?, ?)
ON CONFLICT (host) DO UPDATE SET template = excluded.template;

-- name: template
-- Find the template of a host's pages.
SELECT template FROM templates WHERE host = ?;

-- name: keep_learned
-- Save what was learned about a host or folder.
INSERT INTO learned (what, name, value) VALUES (?, ?, ?)
ON CONFLICT (what, name) DO UPDATE SET value = excluded.value;

-- name: learned
-- Read what was learned about hosts or folders.
SELECT name, value FROM learned WHERE what = ?;

-- name: add_token
-- Add an access token; a name that is taken changes nothing.
INSERT INTO tokens (name, digest, access, created_at) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: tokens
-- List the access tokens.
SELECT name, digest, access, created_at FROM tokens ORDER BY name;

-- name: revoke_token
-- Revoke an access token.
DELETE FROM tokens WHERE name = ?;

-- name: keep_lease
-- Save a lease, with its pages.
INSERT INTO leases (id, request_key, granted_at, deadline, pages) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    request_key = excluded.request_key, deadline = excluded.deadline, pages = excluded.pages;

-- name: drop_lease
-- Delete a lease.
DELETE FROM leases WHERE id = ?;

-- name: leases
-- Read the leases that an earlier service granted, those that have ended included.
SELECT id, request_key, granted_at, deadline, pages FROM leases ORDER BY granted_at, id;

-- name: visited_since
-- Find which of some pages were visited since a time; their numbers are passed as JSON.
SELECT DISTINCT visits.page FROM json_each(?) AS wanted
JOIN visits ON visits.page = wanted.value AND visits.at >= ?;

-- name: urls_after
-- Read the URLs of pages added since.
SELECT number, url FROM pages WHERE number > :number ORDER BY number;

-- name: host_rows
-- Count the pages of each host, from running totals and the index of pages in trouble.
SELECT
    hosts.name, host_pages.pages, coalesce(missing, 0), coalesce(gone, 0), coalesce(refused, 0),
    coalesce(failing, 0), host_pages.unvisited
FROM host_pages JOIN hosts ON hosts.number = host_pages.host LEFT JOIN (
    SELECT
        host, sum(state = 1) AS missing, sum(state = 2) AS gone, sum(state = 3) AS refused,
        sum(state = 0) AS failing
    FROM pages WHERE state <> 0 OR failures > 0 GROUP BY host
) AS trouble ON trouble.host = host_pages.host
WHERE host_pages.pages > 0 ORDER BY 2 DESC, 1;

-- name: largest_hosts
-- Count the same for the hosts with the most pages to visit.
SELECT
    hosts.name, host_pages.pages, coalesce(missing, 0), coalesce(gone, 0), coalesce(refused, 0),
    coalesce(failing, 0), host_pages.unvisited
FROM host_pages JOIN hosts ON hosts.number = host_pages.host LEFT JOIN (
    SELECT
        host, sum(state = 1) AS missing, sum(state = 2) AS gone, sum(state = 3) AS refused,
        sum(state = 0) AS failing
    FROM pages WHERE state <> 0 OR failures > 0 GROUP BY host
) AS trouble ON trouble.host = host_pages.host
WHERE host_pages.pages > 0
ORDER BY host_pages.pages - coalesce(gone, 0) - coalesce(refused, 0) DESC, 2 DESC, 1 LIMIT ?;

-- name: count_hosts
-- Count the hosts that have pages to visit.
SELECT count(*) FROM host_pages LEFT JOIN (
    SELECT host, count(*) AS resting FROM pages
    WHERE (state <> 0 OR failures > 0) AND state > 1 GROUP BY host
) AS resting ON resting.host = host_pages.host
WHERE host_pages.pages > coalesce(resting, 0);

-- name: add_webhook
-- Add a webhook, unless its URL has one already.
INSERT INTO webhooks (url, key, secret, allow_private, added_at, cursor) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (url) DO NOTHING;

-- name: webhooks
-- List webhooks, with how many messages are waiting and how many failed for good.
SELECT
    number, url, key, secret, allow_private, added_at, cursor, missed, received, received_at,
    failing_since, error, disabled,
    (SELECT count(*) FROM webhook_messages WHERE webhook = number AND state = 0),
    (SELECT count(*) FROM webhook_messages WHERE webhook = number AND state = 1)
FROM webhooks ORDER BY number;

-- name: drop_webhook_messages_of
-- Delete the messages of a removed webhook.
DELETE FROM webhook_messages WHERE webhook = ?;

-- name: drop_webhook
-- Remove a webhook.
DELETE FROM webhooks WHERE number = ?;

-- name: set_webhook_disabled
-- Disable a webhook, or enable it, so that it is tried at once.
UPDATE webhooks SET disabled = ?1, error = ?1, failing_since = NULL WHERE number = ?2;

-- name: note_webhook
-- Save a webhook's position in the feed, and the results of sending.
UPDATE webhooks SET
    cursor = ?, received = received + ?, received_at = coalesce(?, received_at),
    failing_since = ?, error = ?
WHERE number = ?;

-- name: move_webhook
-- Skip changes that were dropped before they were sent.
UPDATE webhooks SET cursor = ?, missed = missed + ? WHERE number = ?;

-- name: clear_missed
-- Reset the count of missed changes, once it has been reported.
UPDATE webhooks SET missed = missed - ? WHERE number = ?;

-- name: due_messages
-- Find messages to retry, for each page only the first: those behind it wait. One that was tried in
-- the future is due: the clock was ahead then.
SELECT serial, page, url, id, body, attempts, tried_at, error FROM webhook_messages AS due
WHERE webhook = ?1 AND state = 0 AND (next_at <= ?2 OR tried_at > ?2) AND NOT EXISTS (
    SELECT 1 FROM webhook_messages AS earlier
    WHERE earlier.webhook = ?1 AND earlier.url = due.url AND earlier.serial < due.serial
)
ORDER BY next_at, serial, page LIMIT ?3;

-- name: waiting_urls
-- Find which of some pages have messages that were not delivered; URLs are passed as JSON.
SELECT url, max(state) FROM webhook_messages
WHERE webhook = ? AND url IN (SELECT value FROM json_each(?)) GROUP BY url;

-- name: keep_message
-- Save a message that was not delivered, or the result of retrying it.
INSERT INTO webhook_messages
    (webhook, serial, page, url, id, body, state, attempts, tried_at, next_at, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (webhook, serial, page) DO UPDATE SET
    state = excluded.state, attempts = excluded.attempts, tried_at = excluded.tried_at,
    next_at = excluded.next_at, error = excluded.error;

-- name: drop_message
-- Delete a message that was received.
DELETE FROM webhook_messages WHERE webhook = ? AND serial = ? AND page = ?;

-- name: give_up_page
-- Give up all messages about a page, to keep them in order.
UPDATE webhook_messages SET state = 1 WHERE webhook = ? AND url = ?;

-- name: failed_messages
-- List messages that failed for good, and those behind them.
SELECT serial, page, url, id, body, attempts, tried_at, error FROM webhook_messages
WHERE webhook = ? AND state = 1 ORDER BY serial, page LIMIT ?;

-- name: resend_messages
-- Schedule messages that failed for good to be sent again: those about one page, or all.
UPDATE webhook_messages SET state = 0, attempts = 0, tried_at = NULL, next_at = 0
WHERE webhook = ?1 AND state = 1 AND (?2 IS NULL OR url = ?2);

-- name: messages_to_drop
-- Find messages that failed for good, and are too old or too many.
SELECT serial, page FROM webhook_messages WHERE webhook = ?1 AND state = 1 AND (
    tried_at < ?2 OR (webhook, serial, page) IN (
        SELECT webhook, serial, page FROM webhook_messages WHERE webhook = ?1 AND state = 1
        ORDER BY serial DESC, page DESC LIMIT -1 OFFSET ?3
    )
) LIMIT ?4;

-- name: add_sample
-- Add to the row of a time span, or restart it if its slot last held another one.
INSERT INTO samples (span, slot, at, samples, freshness, due, changed, unchanged, failed)
VALUES (:span, :slot, :at, 1, :freshness, :due, :changed, :unchanged, :failed)
ON CONFLICT (span, slot) DO UPDATE SET
    at = excluded.at,
    samples = CASE WHEN at / :size = :number THEN samples + 1 ELSE 1 END,
    freshness = CASE WHEN at / :size = :number
        THEN coalesce((samples * freshness + excluded.freshness) / (samples + 1),
                      excluded.freshness, freshness)
        ELSE excluded.freshness END,
    due = excluded.due,
    changed = CASE WHEN at / :size = :number THEN changed ELSE 0 END + excluded.changed,
    unchanged = CASE WHEN at / :size = :number THEN unchanged ELSE 0 END + excluded.unchanged,
    failed = CASE WHEN at / :size = :number THEN failed ELSE 0 END + excluded.failed;

-- name: samples_since
-- Read the samples of a crawl, the oldest first.
SELECT at, freshness, due, changed, unchanged, failed FROM samples
WHERE span = ? AND at >= ? ORDER BY at;

-- name: has_host
-- Check whether there is a page of a host.
SELECT 1 FROM hosts
WHERE name = ? AND EXISTS (SELECT 1 FROM pages WHERE pages.host = hosts.number);

-- name: keep_subscription
-- Save a subscription.
INSERT INTO subscriptions (
    feed, hub, topic, callback, secret, next_at, lease_until, received_at, failures, error
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (feed) DO UPDATE SET
    hub = excluded.hub, topic = excluded.topic, callback = excluded.callback,
    secret = excluded.secret, next_at = excluded.next_at, lease_until = excluded.lease_until,
    received_at = excluded.received_at, failures = excluded.failures, error = excluded.error;

-- name: subscriptions
-- List the subscriptions to feeds that are still read.
SELECT
    feed, hub, topic, callback, secret, next_at, lease_until, received_at, failures, error
FROM subscriptions WHERE feed IN (SELECT url FROM sitemaps WHERE removed = 0) ORDER BY feed;

-- name: drop_subscriptions
-- Delete the subscriptions to feeds that are no longer read.
DELETE FROM subscriptions WHERE feed NOT IN (SELECT url FROM sitemaps WHERE removed = 0);

-- name: schema
-- Read what the file has, except for what SQLite adds by itself.
SELECT type, name, sql FROM sqlite_schema
WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\';

-- name: distrust_schema
-- Let views and triggers call only functions that do no harm, whoever wrote them.
PRAGMA trusted_schema = OFF;

-- name: wrong_pages
-- Find pages with impossible values, and the first column that has one.
SELECT number, CASE
    WHEN number < 0 THEN 'number'
    WHEN typeof(url) <> 'text' THEN 'url'
    WHEN typeof(host) <> 'integer' THEN 'host'
    WHEN typeof(importance) <> 'real' OR NOT importance BETWEEN 0 AND 1e300 THEN 'importance'
    WHEN typeof(depth) <> 'integer' OR depth < 0 THEN 'depth'
    WHEN typeof(source) <> 'text' THEN 'source'
    WHEN typeof(added_at) <> 'integer' OR added_at < 0 THEN 'added_at'
    WHEN typeof(state) <> 'integer' OR NOT state BETWEEN 0 AND ? THEN 'state'
    WHEN typeof(last_visit) NOT IN ('integer', 'null') OR last_visit < 0 THEN 'last_visit'
    WHEN typeof(visits) <> 'integer' OR visits < 0 THEN 'visits'
    WHEN typeof(changes) <> 'integer' OR NOT changes BETWEEN 0 AND visits THEN 'changes'
    WHEN typeof(streak) <> 'integer' OR streak < 0 THEN 'streak'
    WHEN typeof(not_modified) <> 'integer' OR not_modified < 0 THEN 'not_modified'
    WHEN typeof(failures) <> 'integer' OR failures < 0 THEN 'failures'
    WHEN typeof(shape) NOT IN ('real', 'null') OR shape <= 0 OR shape > 1e300 THEN 'shape'
    WHEN typeof(time) NOT IN ('real', 'null') OR time <= 0 OR time > 1e300 THEN 'time'
    WHEN (shape IS NULL) <> (time IS NULL) THEN 'shape'
    WHEN typeof(missing_since) NOT IN ('integer', 'null') OR missing_since < 0 THEN 'missing_since'
    WHEN typeof(retry_at) NOT IN ('integer', 'null') OR retry_at < 0 THEN 'retry_at'
    WHEN typeof(feed_state) <> 'integer' OR NOT feed_state BETWEEN 0 AND ? THEN 'feed_state'
    WHEN typeof(reason) NOT IN ('text', 'null') THEN 'reason'
    WHEN typeof(etag) NOT IN ('text', 'blob', 'null') THEN 'etag'
    WHEN typeof(last_modified) NOT IN ('text', 'blob', 'null') THEN 'last_modified'
    WHEN typeof(octaves) NOT IN ('blob', 'null') THEN 'octaves'
    WHEN typeof(body) NOT IN ('blob', 'null') OR length(body) <> 16 THEN 'body'
    WHEN typeof(fingerprint_kind) NOT IN ('text', 'null') THEN 'fingerprint_kind'
    WHEN typeof(fingerprint) NOT IN ('blob', 'null') OR length(fingerprint) > 64
        OR (fingerprint IS NULL) <> (fingerprint_kind IS NULL) THEN 'fingerprint'
    WHEN typeof(ignored) NOT IN ('blob', 'null') THEN 'ignored'
    WHEN typeof(suspects) NOT IN ('blob', 'null') THEN 'suspects'
END AS wrong FROM pages WHERE wrong IS NOT NULL;

-- name: wrong_visits
-- Find visits with impossible values, and the first column that has one.
SELECT page, CASE
    WHEN typeof(at) <> 'integer' OR at < 0 THEN 'at'
    WHEN typeof(outcome) <> 'integer' OR NOT outcome BETWEEN 0 AND ? THEN 'outcome'
    WHEN typeof(previous) NOT IN ('integer', 'null') OR previous < 0 THEN 'previous'
    WHEN typeof(status) <> 'integer' OR NOT status BETWEEN 0 AND 999 THEN 'status'
    WHEN typeof(signal) NOT IN ('integer', 'null') OR NOT signal BETWEEN 0 AND ? THEN 'signal'
    WHEN typeof(last_modified) NOT IN ('integer', 'null') THEN 'last_modified'
    WHEN typeof(bytes) <> 'integer' OR bytes < 0 THEN 'bytes'
    WHEN typeof(ms) <> 'integer' OR ms < 0 THEN 'ms'
    WHEN typeof(requests) <> 'integer' OR requests < 0 THEN 'requests'
    WHEN typeof(truncated) <> 'integer' OR NOT truncated BETWEEN 0 AND 1 THEN 'truncated'
    WHEN typeof(sha1) NOT IN ('blob', 'null') THEN 'sha1'
    WHEN typeof(mime) NOT IN ('text', 'null') THEN 'mime'
    WHEN typeof(redirect) NOT IN ('text', 'null') THEN 'redirect'
    WHEN typeof(error) NOT IN ('text', 'null') THEN 'error'
    WHEN typeof(change_kind) NOT IN ('integer', 'null') OR NOT change_kind BETWEEN 0 AND ?
        THEN 'change_kind'
    WHEN typeof(change_share) NOT IN ('real', 'null') OR NOT change_share BETWEEN 0 AND 1
        THEN 'change_share'
END AS wrong FROM visits WHERE wrong IS NOT NULL;

-- name: wrong_bodies
-- Find bodies with impossible values, and the first column that has one.
SELECT hex(digest), CASE
    WHEN typeof(digest) <> 'blob' OR length(digest) <> 16 THEN 'digest'
    WHEN typeof(size) <> 'integer' OR size < 0 THEN 'size'
    WHEN typeof(stored) <> 'integer' OR stored <> length(deflated) THEN 'stored'
    WHEN typeof(deflated) <> 'blob' THEN 'deflated'
END AS wrong FROM bodies WHERE wrong IS NOT NULL;

-- name: wrong_copies
-- Find headers of copies with impossible values, and the first column that has one.
SELECT page, CASE
    WHEN typeof(url) <> 'text' THEN 'url'
    WHEN typeof(status) <> 'integer' OR NOT status BETWEEN 0 AND 999 THEN 'status'
    WHEN typeof(at) <> 'integer' OR at < 0 THEN 'at'
    WHEN typeof(headers) <> 'blob' THEN 'headers'
    WHEN typeof(truncated) <> 'integer' OR NOT truncated BETWEEN 0 AND 1 THEN 'truncated'
END AS wrong FROM copies WHERE wrong IS NOT NULL;

-- name: wrong_versions
-- Find old copies with impossible values, and the first column that has one.
SELECT page, CASE
    WHEN typeof(until) <> 'integer' OR until < 0 THEN 'until'
    WHEN typeof(url) <> 'text' THEN 'url'
    WHEN typeof(status) <> 'integer' OR NOT status BETWEEN 0 AND 999 THEN 'status'
    WHEN typeof(at) <> 'integer' OR at < 0 THEN 'at'
    WHEN typeof(headers) <> 'blob' THEN 'headers'
    WHEN typeof(truncated) <> 'integer' OR NOT truncated BETWEEN 0 AND 1 THEN 'truncated'
    WHEN typeof(body) <> 'blob' OR length(body) <> 16 THEN 'body'
END AS wrong FROM versions WHERE wrong IS NOT NULL;

-- name: wrong_changes
-- Find changes in the feed with impossible values, and the first column that has one.
SELECT serial, CASE
    WHEN typeof(page) <> 'integer' OR page < 0 THEN 'page'
    WHEN typeof(url) <> 'text' THEN 'url'
    WHEN typeof(kind) <> 'integer' OR NOT kind BETWEEN 0 AND ? THEN 'kind'
    WHEN typeof(at) <> 'integer' OR at < 0 THEN 'at'
    WHEN typeof(previous) NOT IN ('integer', 'null') OR previous < 0 THEN 'previous'
    WHEN typeof(before) NOT IN ('blob', 'null') THEN 'before'
    WHEN typeof(after) NOT IN ('blob', 'null') THEN 'after'
    WHEN typeof(share) NOT IN ('real', 'null') OR NOT share BETWEEN 0 AND 1 THEN 'share'
END AS wrong FROM changes WHERE wrong IS NOT NULL;

-- name: wrong_tokens
-- Find tokens and leases with impossible values, and the first column that has one.
SELECT name, CASE
    WHEN typeof(name) <> 'text' THEN 'name'
    WHEN typeof(digest) <> 'blob' THEN 'digest'
    WHEN access NOT IN ('read', 'crawl', 'admin') THEN 'access'
    WHEN typeof(created_at) <> 'integer' OR created_at < 0 THEN 'created_at'
END AS wrong FROM tokens WHERE wrong IS NOT NULL
UNION ALL
SELECT id, CASE
    WHEN typeof(granted_at) <> 'integer' OR granted_at < 0 THEN 'granted_at'
    WHEN typeof(deadline) <> 'integer' OR deadline < 0 THEN 'deadline'
    WHEN typeof(pages) <> 'blob' OR length(pages) % 8 <> 0 THEN 'pages'
END AS wrong FROM leases WHERE wrong IS NOT NULL;

-- name: wrong_others
-- Find other rows with impossible values, by table and name, and the first column that has one.
SELECT 'spending', hour, 'requests' FROM spending
WHERE typeof(hour) <> 'integer' OR hour < 0 OR typeof(requests) <> 'integer' OR requests < 0
    OR min(lost, robots, sitemaps, first, changed, unchanged, failed, gone) < 0
UNION ALL
SELECT 'robots', origin, 'deflated' FROM robots
WHERE typeof(origin) <> 'text' OR typeof(deflated) <> 'blob' OR typeof(status) <> 'integer'
UNION ALL
SELECT 'templates', host, 'template' FROM templates WHERE typeof(template) <> 'blob'
UNION ALL
SELECT 'learned', what || ' ' || name, 'value' FROM learned WHERE typeof(value) <> 'blob'
UNION ALL
SELECT 'hosts', number, 'name' FROM hosts WHERE typeof(name) <> 'text'
UNION ALL
SELECT 'sitemaps', url, 'next_at' FROM sitemaps
WHERE typeof(url) <> 'text' OR typeof(next_at) NOT IN ('integer', 'null') OR next_at < 0
    OR min(pages, failures, skipped, depth) < 0
UNION ALL
SELECT 'meta', key, 'value' FROM meta WHERE typeof(value) <> 'text'
UNION ALL
SELECT 'counters', name, 'value' FROM counters WHERE typeof(value) <> 'integer' OR value < 0;

-- name: headers_after
-- Read the headers of all copies, current and old, to check that each can be read.
SELECT page, until, headers FROM (
    SELECT page, 0 AS until, headers FROM copies UNION ALL SELECT page, until, headers FROM versions
) WHERE (page, until) > (?, ?) ORDER BY page, until LIMIT ?;

-- name: packed_after
-- Read what pages have packed in bytes, to check that each can be read.
SELECT number, octaves, ignored FROM pages
WHERE number > ? AND (octaves IS NOT NULL OR ignored IS NOT NULL) ORDER BY number LIMIT ?;
