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

PRAGMA user_version = 9;
