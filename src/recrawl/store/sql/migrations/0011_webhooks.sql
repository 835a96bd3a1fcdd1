-- Webhooks: URLs that are sent every change. The feed itself is what waits to be sent.

-- Changes up to the cursor have been received, or are in webhook_messages.
CREATE TABLE webhooks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    secret TEXT NOT NULL,
    allow_private INTEGER NOT NULL,
    added_at INTEGER NOT NULL,
    cursor TEXT NOT NULL,
    missed INTEGER NOT NULL DEFAULT 0,
    received INTEGER NOT NULL DEFAULT 0,
    received_at INTEGER,
    failing_since INTEGER,
    error TEXT,
    disabled TEXT
);

-- Messages that could not be delivered, and those that wait behind one about the same page.
CREATE TABLE webhook_messages (
    webhook INTEGER NOT NULL REFERENCES webhooks (number),
    serial INTEGER NOT NULL,
    page INTEGER NOT NULL,
    url TEXT NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,
    state INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    tried_at INTEGER,
    next_at INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    PRIMARY KEY (webhook, serial, page)
) WITHOUT ROWID;
-- What is due is looked for before anything is sent, and whether a page has to wait.
CREATE INDEX webhook_messages_due ON webhook_messages (webhook, state, next_at);
CREATE INDEX webhook_messages_url ON webhook_messages (webhook, url, serial);

PRAGMA user_version = 11;
