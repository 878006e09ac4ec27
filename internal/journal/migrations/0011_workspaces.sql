-- The workspaces of subagents that may be removed one day: which directory each is, and when it was last used. A row is written before
-- anything runs there.
CREATE TABLE workspaces (
    outbox   TEXT    NOT NULL,
    subagent TEXT    NOT NULL,
    fsid     INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    birth    INTEGER NOT NULL,
    made     INTEGER NOT NULL, -- its client made it for the subagent
    used     INTEGER NOT NULL, -- when a run in it began, or ended
    bytes    INTEGER NOT NULL, -- what it held at the end of the last run; 0 where that is not known
    PRIMARY KEY (outbox, subagent)
) STRICT, WITHOUT ROWID;

-- Workspaces that are being removed, under the name that each has meanwhile. A row is there before the directory gets that name.
CREATE TABLE leaving_workspaces (
    outbox   TEXT    NOT NULL,
    name     TEXT    NOT NULL,
    subagent TEXT    NOT NULL,
    fsid     INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    birth    INTEGER NOT NULL,
    made     INTEGER NOT NULL,
    used     INTEGER NOT NULL,
    PRIMARY KEY (outbox, name)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 11;
