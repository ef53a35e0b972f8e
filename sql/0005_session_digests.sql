-- The tokens of sessions as digests (option hashSessionTokens): such a session has no sessionToken.
ALTER TABLE "_Session" ADD COLUMN "_token_digest" text COLLATE "C";
CREATE UNIQUE INDEX "_Session_token_digest" ON "_Session" ("_token_digest");
