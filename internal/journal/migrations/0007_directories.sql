-- An outbox remembers the directories that it was bound to before: a disk that was mounted too late comes back, and with it the
-- requests that lie there. In an outbox's row, since is the newest run that there was when it got its directory.
ALTER TABLE outboxes ADD COLUMN since INTEGER NOT NULL DEFAULT 0;

CREATE TABLE earlier_directories (
    outbox TEXT    NOT NULL,
    fsid   INTEGER NOT NULL,
    inode  INTEGER NOT NULL,
    birth  INTEGER NOT NULL,
    since  INTEGER NOT NULL, -- its runs began behind this one
    upto   INTEGER NOT NULL, -- and this is the last that can be one
    parted INTEGER NOT NULL, -- when the outbox got another directory
    PRIMARY KEY (outbox, fsid, inode, birth)
) STRICT, WITHOUT ROWID;

-- There is a row until the outboxes of a journal that was made before they had identities are looked at for the first time.
CREATE TABLE unseen (one INTEGER PRIMARY KEY CHECK (one = 1)) STRICT;

INSERT INTO unseen SELECT 1 FROM installation WHERE NOT EXISTS (SELECT 1 FROM outboxes WHERE bound = 1);

PRAGMA user_version = 7;
