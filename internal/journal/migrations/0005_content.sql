-- A request is its content; what the file system says of its file is a cache. Rows of before know that alone.
ALTER TABLE runs ADD COLUMN content BLOB    NOT NULL DEFAULT x''; -- a hash of what was read
ALTER TABLE runs ADD COLUMN firm    INTEGER NOT NULL DEFAULT 0;   -- the file was so old then that each later change shows

DROP INDEX runs_by_file;
CREATE INDEX runs_by_file ON runs (outbox, file_name, ino, mtime, ctime, size, firm);

PRAGMA user_version = 5;
