-- Changes of different classes no longer wait for each other: each class has a version of its own, from one sequence.
-- The single row that counted all changes, and that each change held until its commit, goes.

CREATE SEQUENCE "_SCHEMA_CHANGES";
ALTER TABLE "_SCHEMA" ADD COLUMN "version" bigint NOT NULL DEFAULT nextval('"_SCHEMA_CHANGES"');
DROP TABLE "_SCHEMA_VERSION";
