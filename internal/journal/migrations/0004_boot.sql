-- A run's time goes by the machine's boot, which no clock moves. Rows of before know the clock alone.
ALTER TABLE runs ADD COLUMN released_boot TEXT    NOT NULL DEFAULT ''; -- the id of the boot in which its agent was allowed to run
ALTER TABLE runs ADD COLUMN released_up   INTEGER NOT NULL DEFAULT 0;  -- how long that had lasted, in nanoseconds

PRAGMA user_version = 4;
