-- What a run was released with: JSON, 'null' before that, and in rows of earlier versions.
ALTER TABLE runs ADD COLUMN terms TEXT NOT NULL DEFAULT 'null';

PRAGMA user_version = 13;
