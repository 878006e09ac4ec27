-- When a run ended by the time of day that was believed then, by which its row has an age. 0 until it ends. Rows of before have the clock's time.
ALTER TABLE runs ADD COLUMN over_at INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET over_at = ended WHERE state = 'ended';

DROP INDEX runs_over;
CREATE INDEX runs_over ON runs (outbox, over_at) WHERE answered = 1;

PRAGMA user_version = 14;
