-- Ways in beyond the password: whose a provider's id is, and what second factors are made of.
CREATE TABLE "_hermes_logins" (
    provider text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    "user" text COLLATE "C" NOT NULL REFERENCES "_User" ("objectId") ON DELETE CASCADE,
    PRIMARY KEY (provider, id)
);
CREATE INDEX ON "_hermes_logins" ("user");

-- {"secret": sealed, "recovery": [digests], "step": the last one that was used}
ALTER TABLE "_User" ADD COLUMN "_second_factor" jsonb;

-- Of the last mail with a link to log in by.
ALTER TABLE "_User" ADD COLUMN "_login_token" text COLLATE "C",
    ADD COLUMN "_login_token_expires_at" timestamp with time zone;
CREATE UNIQUE INDEX "_User_login_token" ON "_User" (split_part("_login_token", '.', 2))
    WHERE "_login_token" IS NOT NULL;
