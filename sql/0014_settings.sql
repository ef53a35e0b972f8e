-- What was decided when a database was made, and holds for every server on it that is told nothing else. Of a new database
-- the table is there already: see Schema/DatabaseSettings.swift.
CREATE TABLE IF NOT EXISTS "_hermes_settings" (
    name text PRIMARY KEY,
    value jsonb NOT NULL
);
