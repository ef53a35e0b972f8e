-- `&&` under a guess that does not depend on the array: that nearly all rows pass. PostgreSQL's own guess for an array
-- that it does not know yet is 1 %, so that a statement planned once seems dear beside one planned for the values at
-- hand, and every read is planned anew. Most objects can be read by those who ask for them.
CREATE OPERATOR &&~ (FUNCTION = arrayoverlap, LEFTARG = anyarray, RIGHTARG = anyarray, RESTRICT = neqsel);

-- The moment that a Date within an Object or Array stands for; NULL for everything else. A year past 9999 is written with
-- a sign and six digits, which PostgreSQL does not read.
CREATE FUNCTION hermes_date(value jsonb) RETURNS timestamp with time zone
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF jsonb_typeof(value) <> 'object' OR value ->> '__type' IS DISTINCT FROM 'Date' THEN
        RETURN NULL;
    END IF;
    RETURN regexp_replace(value ->> 'iso', '^\+0*', '')::timestamp with time zone;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;
