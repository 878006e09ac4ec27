-- What the agent of a run needed to go on was kept as this session; '' where nothing was.
ALTER TABLE runs ADD COLUMN session TEXT NOT NULL DEFAULT '';

-- The files that its answer tells of, as JSON.
ALTER TABLE runs ADD COLUMN artifacts TEXT NOT NULL DEFAULT 'null';

PRAGMA user_version = 8;
