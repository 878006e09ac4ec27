-- The directory of an outbox lies on a tmpfs.
ALTER TABLE outboxes ADD COLUMN volatile INTEGER NOT NULL DEFAULT 0 CHECK (volatile IN (0, 1));

PRAGMA user_version = 16;
