-- The tree of an outbox. parent is what the request named; parent_run is the key of the run that was meant, '' where it named none.
-- Rows of before stand directly below the agent whose outbox it is: a depth of 0 is as good as 1.
ALTER TABLE runs ADD COLUMN parent     TEXT    NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN parent_run TEXT    NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN depth      INTEGER NOT NULL DEFAULT 0;

CREATE INDEX runs_by_parent ON runs (parent_run) WHERE parent_run <> '' AND state <> 'ended';

PRAGMA user_version = 10;
