-- Classes, their fields, class-level permissions and indexes, one row a class.
CREATE TABLE "_SCHEMA" (
    "className" text PRIMARY KEY,
    "schema" jsonb NOT NULL,
    version bigint NOT NULL DEFAULT 1
);
