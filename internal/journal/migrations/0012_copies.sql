-- What the host has copied into a workspace that it made itself; '' for every other one.
ALTER TABLE workspaces ADD COLUMN origin TEXT NOT NULL DEFAULT '';

-- How many bytes lie beside it, to compare it with.
ALTER TABLE workspaces ADD COLUMN base INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 12;
