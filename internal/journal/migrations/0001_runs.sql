-- Times are unix nanoseconds, 0 for none. Raw bytes that others chose are BLOBs.
CREATE TABLE installation (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id  TEXT NOT NULL CHECK (length(id) = 16)
) STRICT;

CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY, -- the order in which runs began
    key           TEXT    NOT NULL UNIQUE,
    outbox        TEXT    NOT NULL,
    subagent      TEXT    NOT NULL,
    request       TEXT    NOT NULL,
    attempt       INTEGER NOT NULL,
    subagent_text BLOB    NOT NULL, -- as in the file, where it is no id
    request_text  BLOB    NOT NULL,
    file_name     BLOB    NOT NULL,
    ino           INTEGER NOT NULL,
    mtime         INTEGER NOT NULL,
    ctime         INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    state         TEXT    NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'waiting', 'ended')),
    reason        TEXT    NOT NULL,
    code          TEXT    NOT NULL,
    field         TEXT    NOT NULL,
    hint          TEXT    NOT NULL,
    text          TEXT    NOT NULL,
    exit_code     INTEGER,
    stdout_tail   BLOB    NOT NULL,
    stderr_tail   BLOB    NOT NULL,
    warnings      TEXT    NOT NULL,
    profile       TEXT    NOT NULL,
    launcher      TEXT    NOT NULL,
    spec_digest   TEXT    NOT NULL,
    workspace     TEXT    NOT NULL,
    handle        TEXT    NOT NULL, -- JSON, 'null' for none; so are warnings, timings and usage
    created       INTEGER NOT NULL,
    started       INTEGER NOT NULL,
    ended         INTEGER NOT NULL,
    timings       TEXT    NOT NULL,
    usage         TEXT    NOT NULL,
    answered      INTEGER NOT NULL CHECK (answered IN (0, 1)),

    CHECK ((state = 'ended') = (reason <> '')),
    CHECK (reason <> 'exited' OR exit_code IS NOT NULL),
    CHECK (answered = 0 OR state = 'ended')
) STRICT;

CREATE INDEX runs_by_file ON runs (outbox, file_name, ino, mtime, ctime, size);
CREATE INDEX runs_by_subagent ON runs (outbox, subagent);
CREATE INDEX runs_by_outbox ON runs (outbox);
CREATE INDEX runs_unanswered ON runs (seq) WHERE answered = 0;

PRAGMA application_id = 1416589934; -- "Torn"
PRAGMA user_version = 1;
