-- The words of a text in two languages at once, without accents: indexes of the kind `text:es+en`. Of a long text only
-- the beginning: PostgreSQL's lists of words hold 1 MB.
CREATE FUNCTION hermes_words(text, regconfig, regconfig) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT to_tsvector($2, hermes_fold(left($1, 100000))) || to_tsvector($3, hermes_fold(left($1, 100000)))
$$;

-- When a request came with the session, to some seconds, for applications that ask who is there.
ALTER TABLE "_Session" ADD COLUMN IF NOT EXISTS "_seen_at" timestamptz;
