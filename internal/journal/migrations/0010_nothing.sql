-- This version changes nothing.
PRAGMA user_version = 10;
