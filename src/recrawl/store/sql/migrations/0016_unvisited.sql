-- Pages that were never visited are counted only while they are to be visited: those that are gone
-- or refused had to be looked up one by one to be left out.

DROP TRIGGER page_visited;
DROP TRIGGER page_removed;
DELETE FROM host_pages;
INSERT INTO host_pages (host, pages, unvisited)
SELECT host, count(*), sum(last_visit IS NULL AND state < 2) FROM pages GROUP BY host;
CREATE TRIGGER page_visited AFTER UPDATE OF last_visit, state ON pages
WHEN (old.last_visit IS NULL AND old.state < 2) <> (new.last_visit IS NULL AND new.state < 2) BEGIN
    UPDATE host_pages SET
        unvisited = unvisited + CASE WHEN new.last_visit IS NULL AND new.state < 2 THEN 1 ELSE -1 END
    WHERE host = new.host;
END;
CREATE TRIGGER page_removed AFTER DELETE ON pages BEGIN
    UPDATE host_pages SET
        pages = pages - 1, unvisited = unvisited - (old.last_visit IS NULL AND old.state < 2)
    WHERE host = old.host;
END;

PRAGMA user_version = 16;
