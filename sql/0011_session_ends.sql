-- Sessions that have ended are found by it, and deleted now and then.
CREATE INDEX IF NOT EXISTS "_Session_expiresAt" ON "_Session" ("expiresAt");
