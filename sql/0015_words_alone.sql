-- hermes_words named hermes_fold, which pg_restore does not find (it restores with an empty search path), nor PostgreSQL 17
-- when it looks after indexes: no backup of a class with an index of two languages could be restored. Now it stands alone,
-- with the same result, so that the indexes that are there hold; one expression, so that it is still inlined.
CREATE OR REPLACE FUNCTION hermes_words(text, regconfig, regconfig) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT
        to_tsvector($2, regexp_replace(
            normalize(lower(left($1, 100000) COLLATE "und-x-icu"), NFD),
            '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]', '', 'g'))
        || to_tsvector($3, regexp_replace(
            normalize(lower(left($1, 100000) COLLATE "und-x-icu"), NFD),
            '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]', '', 'g'))
$$;
