-- Webhooks: what is called where, for all nodes. A trigger has a class, functions and jobs have none.
CREATE TABLE "_Hooks" (
    "kind" text NOT NULL CHECK ("kind" IN ('function', 'trigger', 'job')),
    "className" text COLLATE "C" NOT NULL,
    "name" text COLLATE "C" NOT NULL,
    "url" text NOT NULL,
    PRIMARY KEY ("kind", "className", "name")
);

-- Parameters of the application that clients read (/config).
CREATE TABLE "_GlobalConfig" (
    "name" text COLLATE "C" PRIMARY KEY,
    "value" jsonb NOT NULL,
    "masterKeyOnly" boolean NOT NULL
);
