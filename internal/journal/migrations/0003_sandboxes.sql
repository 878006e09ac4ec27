-- A sandbox has an id of its own, which a run is bound to before it is made. Rows of before have sandboxes that are named by their key.
ALTER TABLE runs ADD COLUMN sandbox     TEXT    NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN released    INTEGER NOT NULL DEFAULT 0;      -- its agent may run from then on
ALTER TABLE runs ADD COLUMN attestation TEXT    NOT NULL DEFAULT 'null'; -- JSON: what the host saw of the sandbox before

UPDATE runs SET sandbox = key WHERE handle <> 'null' OR state = 'starting';
-- A sandbox of before that was noted may have run. The host has not looked at it.
UPDATE runs SET released = max(made, created), handle = json_set(json_remove(handle, '$.key'), '$.sandbox', key) WHERE handle <> 'null';

PRAGMA user_version = 3;
