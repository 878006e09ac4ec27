-- Why the run is being ended, from before anything is done for that; JSON, 'null' for none.
ALTER TABLE runs ADD COLUMN ending TEXT NOT NULL DEFAULT 'null';

PRAGMA user_version = 18;
