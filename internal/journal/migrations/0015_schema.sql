-- Times are unix nanoseconds, 0 for none. Raw bytes that others chose are BLOBs.
CREATE TABLE installation (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id  TEXT NOT NULL CHECK (length(id) = 16)
) STRICT;

CREATE TABLE runs (
    seq           INTEGER PRIMARY KEY, -- the order in which runs began
    key           TEXT    NOT NULL UNIQUE,
    outbox        TEXT    NOT NULL,    -- its id
    subagent      TEXT    NOT NULL,
    request       TEXT    NOT NULL,
    attempt       INTEGER NOT NULL,
    subagent_text BLOB    NOT NULL,    -- as in the file, where it is no id
    request_text  BLOB    NOT NULL,
    parent        TEXT    NOT NULL DEFAULT '', -- what the request named
    parent_run    TEXT    NOT NULL DEFAULT '', -- the key of the run that was meant; '' where it named none
    depth         INTEGER NOT NULL DEFAULT 0,  -- 1 directly below the agent whose outbox it is

    -- A request is its content; what the file system says of its file is a cache.
    file_name     BLOB    NOT NULL,
    ino           INTEGER NOT NULL,
    mtime         INTEGER NOT NULL,
    ctime         INTEGER NOT NULL,
    size          INTEGER NOT NULL,
    content       BLOB    NOT NULL DEFAULT x'', -- a hash of what was read
    firm          INTEGER NOT NULL DEFAULT 0,   -- the file was so old then that each later change shows

    state         TEXT    NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'waiting', 'ended')),
    reason        TEXT    NOT NULL,
    code          TEXT    NOT NULL,
    field         TEXT    NOT NULL,
    hint          TEXT    NOT NULL,
    text          TEXT    NOT NULL,
    exit_code     INTEGER,
    stdout_tail   BLOB    NOT NULL,
    stderr_tail   BLOB    NOT NULL,
    warnings      TEXT    NOT NULL, -- JSON, 'null' for none; so are handle, timings, usage, attestation, artifacts and terms
    profile       TEXT    NOT NULL,
    launcher      TEXT    NOT NULL,
    spec_digest   TEXT    NOT NULL,
    workspace     TEXT    NOT NULL,
    handle        TEXT    NOT NULL,
    sandbox       TEXT    NOT NULL DEFAULT '',     -- the id of the sandbox, to which a run is bound before that is made
    attestation   TEXT    NOT NULL DEFAULT 'null', -- what the host saw of the sandbox before the agent was allowed to run
    terms         TEXT    NOT NULL DEFAULT 'null', -- what it was released with
    session       TEXT    NOT NULL DEFAULT '',     -- what the agent needed to go on was kept as this session
    artifacts     TEXT    NOT NULL DEFAULT 'null', -- the files that its answer tells of
    timings       TEXT    NOT NULL,
    usage         TEXT    NOT NULL,
    answered      INTEGER NOT NULL CHECK (answered IN (0, 1)),

    created       INTEGER NOT NULL,
    starting      INTEGER NOT NULL DEFAULT 0,  -- its turn came
    made          INTEGER NOT NULL DEFAULT 0,  -- its sandbox was there
    released      INTEGER NOT NULL DEFAULT 0,  -- its agent was allowed to run
    released_boot TEXT    NOT NULL DEFAULT '', -- the id of the boot in which that was
    released_up   INTEGER NOT NULL DEFAULT 0,  -- how long that boot had lasted, in nanoseconds; no clock moves it
    started       INTEGER NOT NULL,
    ended         INTEGER NOT NULL,
    over_at       INTEGER NOT NULL DEFAULT 0,  -- when it ended by the time of day that was believed then, by which its row has an age
    answered_at   INTEGER NOT NULL DEFAULT 0,

    CHECK ((state = 'ended') = (reason <> '')),
    CHECK (reason <> 'exited' OR exit_code IS NOT NULL),
    CHECK (answered = 0 OR state = 'ended'),
    CHECK (released = 0 OR terms <> 'null')
) STRICT;

CREATE INDEX runs_by_file ON runs (outbox, file_name, ino, mtime, ctime, size, firm);
CREATE INDEX runs_by_subagent ON runs (outbox, subagent);
CREATE INDEX runs_by_outbox ON runs (outbox);
CREATE INDEX runs_by_parent ON runs (parent_run) WHERE parent_run <> '' AND state <> 'ended';
CREATE INDEX runs_unanswered ON runs (seq) WHERE answered = 0;
CREATE INDEX runs_over ON runs (outbox, over_at) WHERE answered = 1; -- what may be pruned, the earliest end first

-- The keys of pruned runs, so that none runs again. asked is the latest time that the request's file can have.
CREATE TABLE forgotten (
    key    BLOB    PRIMARY KEY CHECK (length(key) = 16),
    outbox TEXT    NOT NULL,
    asked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX forgotten_by_age ON forgotten (outbox, asked);

-- The newest request of each outbox whose key was dropped. Whatever is not newer may have run.
CREATE TABLE horizons (
    outbox TEXT    PRIMARY KEY,
    asked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An outbox has an id that lasts; its name is what people call it now. Its directory is known by the number of its file system,
-- its inode and its birth (0 for unknown), never by its path: that only says where to look for it.
CREATE TABLE outboxes (
    id     TEXT    PRIMARY KEY CHECK (id <> ''),
    name   TEXT    NOT NULL,
    named  INTEGER NOT NULL CHECK (named IN (0, 1)), -- 0: another outbox has the name by now
    path   TEXT    NOT NULL,
    fsid   INTEGER NOT NULL,
    inode  INTEGER NOT NULL,
    birth  INTEGER NOT NULL,
    lost   INTEGER NOT NULL CHECK (lost IN (0, 1))   -- 1: what lies there may have run, and no record says so
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX outboxes_by_name ON outboxes (name) WHERE named = 1;

-- What agents have asked, and who has decided it. Times are nanoseconds since the release of the run. What a child has said is kept as
-- bytes.
CREATE TABLE approvals (
    run     TEXT    NOT NULL,
    number  INTEGER NOT NULL, -- in its run, from 1
    ask     BLOB    NOT NULL, -- the agent's name of it
    tool    BLOB    NOT NULL,
    preview BLOB    NOT NULL, -- the beginning of the arguments
    cut     INTEGER NOT NULL,
    digest  TEXT    NOT NULL,
    policy  TEXT    NOT NULL,
    asked   INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    outcome TEXT    NOT NULL, -- '' until it is decided
    by      TEXT    NOT NULL,
    why     TEXT    NOT NULL,
    decided INTEGER NOT NULL,
    taken   INTEGER NOT NULL, -- the agent has the decision, or will never take it
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

-- What the operator has changed for one run: each change is a rule that allows more, or the end of all approvals without a question.
CREATE TABLE approval_changes (
    run    TEXT    NOT NULL,
    number INTEGER NOT NULL, -- from 1
    rule   TEXT    NOT NULL, -- JSON; '' ends them
    why    TEXT    NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER approvals_of_pruned AFTER DELETE ON runs BEGIN
    DELETE FROM approvals WHERE run = OLD.key;
    DELETE FROM approval_changes WHERE run = OLD.key;
END;

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
    origin   TEXT    NOT NULL DEFAULT '', -- what the host has copied into it, where the host made it itself
    base     INTEGER NOT NULL DEFAULT 0,  -- how many bytes lie beside it, to compare it with
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

PRAGMA application_id = 1416589934; -- "Torn"
PRAGMA user_version = 15;
