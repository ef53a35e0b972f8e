-- The queue of jobs: what is to be done soon, later or again, by whichever node has room. A job is a row; nodes take
-- those that are due with FOR UPDATE SKIP LOCKED, and hold a lease on each for as long as it runs.

CREATE TABLE "_Job" (
    "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Who knows how to do it.
    "kind" text COLLATE "C" NOT NULL,
    "payload" jsonb NOT NULL,
    -- While a job waits or runs, no other is made with the same key.
    "key" text COLLATE "C",
    "priority" smallint NOT NULL DEFAULT 0 CHECK ("priority" BETWEEN -1 AND 1),
    "state" text NOT NULL DEFAULT 'waiting' CHECK ("state" IN ('waiting', 'running', 'done', 'dead', 'cancelled')),
    -- Not sooner than this.
    "runAt" timestamptz NOT NULL,
    -- How often it was begun: the number of a run, so that one that has lost its lease can't speak for the next.
    "run" integer NOT NULL DEFAULT 0,
    -- How often it failed, and how often it may; null: as often as its kind says.
    "attempts" integer NOT NULL DEFAULT 0,
    "maxAttempts" integer,
    -- How often the node that ran it went away.
    "losses" integer NOT NULL DEFAULT 0,
    -- The node that runs it, and until when it need not say so again.
    "owner" text COLLATE "C",
    "leaseUntil" timestamptz,
    "cancelRequested" boolean NOT NULL DEFAULT false,
    -- The last thing that it said of itself.
    "message" text,
    -- Why it failed the last time.
    "reason" text,
    "createdAt" timestamptz NOT NULL DEFAULT clock_timestamp(),
    "startedAt" timestamptz,
    "finishedAt" timestamptz
);
-- What is due, by priority.
CREATE INDEX "_Job_due" ON "_Job" ("priority", "runAt", "id") WHERE "state" = 'waiting';
CREATE INDEX "_Job_leases" ON "_Job" ("leaseUntil") WHERE "state" = 'running';
CREATE INDEX "_Job_finished" ON "_Job" ("finishedAt") WHERE "state" IN ('done', 'dead', 'cancelled');
CREATE UNIQUE INDEX "_Job_key" ON "_Job" ("key") WHERE "state" IN ('waiting', 'running');

-- When each schedule has its next run. Whoever moves the hand makes the run, so that it is made once.
CREATE TABLE "_JobClock" (
    "name" text COLLATE "C" PRIMARY KEY,
    -- A change of it sets the clock anew.
    "definition" text NOT NULL,
    -- null: never again. Programs count milliseconds, and compare.
    "next" timestamptz(3),
    -- The run that was made last.
    "last" timestamptz(3)
);
