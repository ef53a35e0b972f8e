-- Indexes are rows: what was asked for, what PostgreSQL calls it, and how far it is. A program's index builder makes
-- those that are 'building', without stopping readers or writers.

CREATE TABLE "_Index" (
    "id" bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "className" text COLLATE "C" NOT NULL,
    -- As the schema API names it; null where the server makes the index by itself.
    "name" text COLLATE "C",
    -- As it was asked for. Not jsonb: the order of the fields counts.
    "definition" json,
    -- The index's name in PostgreSQL.
    "relation" text COLLATE "C" NOT NULL UNIQUE,
    "isUnique" boolean NOT NULL DEFAULT false,
    -- What stands behind the table's name in CREATE INDEX.
    "recipe" text NOT NULL,
    "fields" text[] NOT NULL,
    "state" text NOT NULL CHECK ("state" IN ('building', 'valid', 'failed')),
    -- Why it failed.
    "reason" text,
    -- An older index, dropped as soon as this one is there.
    "replaces" text,
    -- How often building it was given up so far, and when it is tried again.
    "tries" integer NOT NULL DEFAULT 0,
    "notBefore" timestamptz NOT NULL DEFAULT now(),
    -- The process of PostgreSQL that builds it.
    "builder" integer,
    UNIQUE ("className", "name")
);
CREATE INDEX ON "_Index" ("notBefore") WHERE "state" = 'building' OR "replaces" IS NOT NULL;

-- What names are compared by that shall differ in more than case and accents: decomposed (Unicode, NFD), without the
-- blocks of combining marks. Lower case comes first, since it may itself bring a mark (İ).
CREATE FUNCTION hermes_fold(text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT regexp_replace(
        normalize(lower($1 COLLATE "und-x-icu"), NFD),
        '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]', '', 'g')
$$;

-- The indexes that were asked for so far. Those of a kind that was not understood are plain ones in truth.
INSERT INTO "_Index" ("className", "name", "definition", "relation", "recipe", "fields", "state", "reason")
SELECT "className", "name", "definition",
    CASE WHEN octet_length("className" || '.' || "name") <= 63 THEN "className" || '.' || "name"
        ELSE left("className", 28) || '.' || md5("name") END,
    '(' || "columns" || ')', "fields",
    CASE WHEN NOT "isPlain" THEN 'failed' WHEN octet_length("className" || '.' || "name") <= 63 THEN 'valid'
        ELSE 'building' END,
    CASE WHEN NOT "isPlain" THEN 'It was made as a plain index. Delete it and ask for it again.' END
FROM (
    SELECT s."className", i.key AS "name", i.value::json AS "definition",
        string_agg(format('%I', f.key) || CASE f.value WHEN '-1' THEN ' DESC' ELSE '' END, ', ') AS "columns",
        array_agg(f.key) AS "fields", bool_and(jsonb_typeof(f.value) = 'number') AS "isPlain"
    FROM "_SCHEMA" s, jsonb_each(s."schema" -> 'indexes') i, jsonb_each(i.value) f
    WHERE i.key <> '_id_'
    GROUP BY 1, 2, i.value
) AS asked;
UPDATE "_SCHEMA" SET "schema" = "schema" - 'indexes' WHERE "schema" ? 'indexes';

-- Whoever asks for what points at an object asks for the newest first: (pointer, "createdAt", "objectId") in the place
-- of an index on the pointer alone. The builder makes them, since a table may be large.
INSERT INTO "_Index" ("className", "relation", "recipe", "fields", "state", "replaces")
SELECT s."className",
    CASE WHEN octet_length(s."className" || ':' || f.key) <= 63 THEN s."className" || ':' || f.key
        ELSE left(s."className", 28) || ':' || md5(f.key) END,
    format('(%I, "createdAt", "objectId")', f.key), ARRAY[f.key], 'building',
    (
        SELECT c.relname FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = to_regclass(quote_ident(s."className")) AND i.indnatts = 1 AND NOT i.indisunique
            AND a.attname = f.key AND position('.' IN c.relname) = 0
        LIMIT 1
    )
FROM "_SCHEMA" s, jsonb_each(s."schema" -> 'fields') f
WHERE f.value ->> 'type' = 'Pointer' AND (s."className", f.key) <> ('_Session', 'user');

-- Log-in looks names and addresses up as they are written; the indexes so far serve only those in lower case.
INSERT INTO "_Index" ("className", "relation", "recipe", "fields", "state") VALUES
    ('_User', '_User:username', '("username")', '{username}', 'building'),
    ('_User', '_User:email', '("email")', '{email}', 'building');

DO $$
DECLARE
    geo record;
BEGIN
    -- Those of GeoPoint fields are as they should be; only their names change.
    FOR geo IN
        SELECT s."className", f.key AS field, c.relname,
            CASE WHEN octet_length(s."className" || ':' || f.key) <= 63 THEN s."className" || ':' || f.key
                ELSE left(s."className", 28) || ':' || md5(f.key) END AS relation
        FROM "_SCHEMA" s, jsonb_each(s."schema" -> 'fields') f, pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_am m ON m.oid = c.relam AND m.amname = 'gist'
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE f.value ->> 'type' = 'GeoPoint' AND i.indrelid = to_regclass(quote_ident(s."className"))
            AND a.attname = f.key
    LOOP
        EXECUTE format('ALTER INDEX %I RENAME TO %I', geo.relname, geo.relation);
        INSERT INTO "_Index" ("className", "relation", "recipe", "fields", "state")
        VALUES (geo."className", geo.relation, format('USING gist (%I)', geo.field), ARRAY[geo.field], 'valid');
    END LOOP;
    IF pg_relation_size('"_User"') = 0 THEN
        CREATE INDEX "_User:username" ON "_User" ("username");
        CREATE INDEX "_User:email" ON "_User" ("email");
        UPDATE "_Index" SET "state" = 'valid' WHERE "relation" IN ('_User:username', '_User:email');
    END IF;
END
$$;
