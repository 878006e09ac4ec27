-- When each phase of a run was reached. Rows of before do not know.
ALTER TABLE runs ADD COLUMN starting    INTEGER NOT NULL DEFAULT 0; -- its turn came
ALTER TABLE runs ADD COLUMN made        INTEGER NOT NULL DEFAULT 0; -- its sandbox was there
ALTER TABLE runs ADD COLUMN answered_at INTEGER NOT NULL DEFAULT 0;

-- What may be pruned, oldest end first.
CREATE INDEX runs_over ON runs (outbox, ended) WHERE answered = 1;

-- The keys of pruned runs, so that none runs again. asked is the latest time that the request's file can have.
CREATE TABLE forgotten (
    key    BLOB    PRIMARY KEY CHECK (length(key) = 16),
    outbox TEXT    NOT NULL,
    asked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX forgotten_by_age ON forgotten (outbox, asked);

-- Of each outbox, the newest request whose key was dropped. What is not newer may have run.
CREATE TABLE horizons (
    outbox TEXT    PRIMARY KEY,
    asked  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 2;
