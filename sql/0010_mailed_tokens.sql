-- Tokens that mails carry lie here as NONCE.DIGEST; a link has the token alone. Those of an older version, which lay in
-- clear, are of no use any more.
UPDATE "_User" SET "_email_verify_token" = NULL, "_email_verify_token_expires_at" = NULL
    WHERE "_email_verify_token" IS NOT NULL;
UPDATE "_User" SET "_perishable_token" = NULL, "_perishable_token_expires_at" = NULL
    WHERE "_perishable_token" IS NOT NULL;
CREATE UNIQUE INDEX "_User_email_verify_token" ON "_User" (split_part("_email_verify_token", '.', 2))
    WHERE "_email_verify_token" IS NOT NULL;
CREATE UNIQUE INDEX "_User_perishable_token" ON "_User" (split_part("_perishable_token", '.', 2))
    WHERE "_perishable_token" IS NOT NULL;
