-- An outbox has an id that lasts; its name is what people call it now. Its directory is known by the number of its file system,
-- its inode and its birth (0 for unknown), never by its path: that only says where to look for it.
CREATE TABLE outboxes (
    id     TEXT    PRIMARY KEY CHECK (id <> ''),
    name   TEXT    NOT NULL,
    named  INTEGER NOT NULL CHECK (named IN (0, 1)), -- 0: another outbox has the name by now
    path   TEXT    NOT NULL,
    bound  INTEGER NOT NULL CHECK (bound IN (0, 1)), -- 0: no watcher has seen its directory since this table is there
    fsid   INTEGER NOT NULL,
    inode  INTEGER NOT NULL,
    birth  INTEGER NOT NULL,
    lost   INTEGER NOT NULL CHECK (lost IN (0, 1))   -- 1: what lies there may have run, and no record says so
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX outboxes_by_name ON outboxes (name) WHERE named = 1;

-- An outbox of before keeps its name of then as its id. Keys of runs, keys of pruned runs and the keys that stand for entries
-- without ids are hashes over that text: with another id each of them would be another key, and a request that ran would run
-- again. Pruned keys could not even be made anew, since nothing but the hash of them is left. No new id is equal to such a
-- text: an id is random, and is drawn again where the table has it.
INSERT INTO outboxes (id, name, named, path, bound, fsid, inode, birth, lost)
    SELECT outbox, outbox, 1, '', 0, 0, 0, 0, 0
    FROM (SELECT outbox FROM runs UNION SELECT outbox FROM forgotten UNION SELECT outbox FROM horizons)
    WHERE outbox <> '';

PRAGMA user_version = 6;
