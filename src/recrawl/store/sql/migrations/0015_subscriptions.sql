-- Feeds whose hub was asked to say when they change, as WebSub has it.

-- The callback is the end of the URL at which the hub reaches us, and the secret what it signs
-- messages with: both are random. Without lease_until, the hub has not confirmed anything yet.
CREATE TABLE subscriptions (
    feed TEXT PRIMARY KEY,
    hub TEXT NOT NULL,
    topic TEXT NOT NULL,
    callback TEXT NOT NULL UNIQUE,
    secret TEXT NOT NULL,
    next_at INTEGER NOT NULL,
    lease_until INTEGER,
    received_at INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    error TEXT
) WITHOUT ROWID;

PRAGMA user_version = 15;
