-- Why pages are refused, for readers of the feed, and which copies have next to no text.

-- Readers are told of a page that is refused already when it is checked again.
ALTER TABLE changes ADD COLUMN reason TEXT;

-- Whether the copy has next to no text, as a page that is made by scripts; unknown for old copies.
ALTER TABLE copies ADD COLUMN no_text INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 17;
