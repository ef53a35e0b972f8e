-- How often somebody has asked for what is limited, counted for all nodes together. Not logged: after a crash of the
-- database everybody begins anew.
CREATE UNLOGGED TABLE "_hermes_rate_limits" (
    -- A digest of the limit and of who is counted: it tells nothing of either.
    key text COLLATE "C" PRIMARY KEY,
    count bigint NOT NULL,
    resets_at timestamptz NOT NULL
);
CREATE INDEX ON "_hermes_rate_limits" (resets_at);
