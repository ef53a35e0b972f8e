-- Takes away what lies at `path`; what is not there stays away. A path that leads through a list is an error.
CREATE FUNCTION hermes_unset(document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    FOR depth IN 1 .. array_length(path, 1) - 1 LOOP
        IF jsonb_typeof(document #> path[:depth]) = 'array' THEN
            RAISE EXCEPTION 'a dotted path leads into something that is no object' USING ERRCODE = 'HP111';
        END IF;
    END LOOP;
    RETURN coalesce(document, '{}'::jsonb) #- path;
END
$$;
