-- The boot of the machine in which a directory on a tmpfs was seen; 0 for a directory on another file system.
ALTER TABLE outboxes ADD COLUMN boot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outboxes DROP COLUMN volatile;

PRAGMA user_version = 17;
