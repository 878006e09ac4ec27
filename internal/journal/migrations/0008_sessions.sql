-- What the agent of a run needed to go on was kept as this session; '' where nothing was.
ALTER TABLE runs ADD COLUMN session TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 8;
