-- Why the run is being ended, from before anything is done for that; JSON, 'null' for none.
ALTER TABLE runs ADD COLUMN ending TEXT NOT NULL DEFAULT 'null';

-- A workspace that is kept after all is a copy still.
ALTER TABLE leaving_workspaces ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE leaving_workspaces ADD COLUMN base INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 18;
