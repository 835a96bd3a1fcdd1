-- What the visits to a page said about its change rate, apart from what other pages say.

-- The octave of the lowest of 16 rates, and a likelihood for each of them, in half precision.
ALTER TABLE pages ADD COLUMN octaves BLOB;

PRAGMA user_version = 12;
