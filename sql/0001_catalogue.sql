-- The catalogue of classes, the server's own classes, and the functions that statements call.

CREATE TABLE "_SCHEMA" (
    "className" text COLLATE "C" PRIMARY KEY,
    "schema" jsonb NOT NULL
);

-- One row: counts the changes of the schema. Whoever changes the schema takes this row first.
CREATE TABLE "_SCHEMA_VERSION" (version bigint NOT NULL);
INSERT INTO "_SCHEMA_VERSION" VALUES (1);

CREATE TABLE "_User" (
    "objectId" text COLLATE "C" PRIMARY KEY,
    "createdAt" timestamp(3) with time zone NOT NULL,
    "updatedAt" timestamp(3) with time zone NOT NULL,
    "_rperm" text[],
    "_wperm" text[],
    "username" text COLLATE "C",
    "email" text COLLATE "C",
    "emailVerified" boolean,
    "authData" jsonb,
    "_hashed_password" text,
    "_password_changed_at" timestamp(3) with time zone,
    "_password_history" jsonb,
    "_failed_login_count" double precision,
    "_account_lockout_expires_at" timestamp(3) with time zone,
    "_email_verify_token" text,
    "_email_verify_token_expires_at" timestamp(3) with time zone,
    "_perishable_token" text,
    "_perishable_token_expires_at" timestamp(3) with time zone
);
CREATE INDEX ON "_User" ("createdAt", "objectId");
-- Names and addresses are unique whatever their case; the names of these indexes tell errors apart.
CREATE UNIQUE INDEX "_User_username" ON "_User" (lower("username" COLLATE "und-x-icu"));
CREATE UNIQUE INDEX "_User_email" ON "_User" (lower("email" COLLATE "und-x-icu"));
CREATE UNIQUE INDEX "_User_authData_anonymous" ON "_User" (("authData" #>> '{anonymous,id}'));

CREATE TABLE "_Session" (
    "objectId" text COLLATE "C" PRIMARY KEY,
    "createdAt" timestamp(3) with time zone NOT NULL,
    "updatedAt" timestamp(3) with time zone NOT NULL,
    "_rperm" text[],
    "_wperm" text[],
    "user" text COLLATE "C",
    "sessionToken" text COLLATE "C",
    "expiresAt" timestamp(3) with time zone,
    "createdWith" jsonb,
    "installationId" text COLLATE "C"
);
CREATE INDEX ON "_Session" ("createdAt", "objectId");
CREATE UNIQUE INDEX "_Session_sessionToken" ON "_Session" ("sessionToken");
CREATE INDEX ON "_Session" ("user", "installationId");

CREATE TABLE "_Role" (
    "objectId" text COLLATE "C" PRIMARY KEY,
    "createdAt" timestamp(3) with time zone NOT NULL,
    "updatedAt" timestamp(3) with time zone NOT NULL,
    "_rperm" text[],
    "_wperm" text[],
    "name" text COLLATE "C"
);
CREATE INDEX ON "_Role" ("createdAt", "objectId");
CREATE UNIQUE INDEX "_Role_name" ON "_Role" ("name");

CREATE TABLE "_Join:users:_Role" (
    "owningId" text COLLATE "C" NOT NULL,
    "relatedId" text COLLATE "C" NOT NULL,
    PRIMARY KEY ("owningId", "relatedId")
);
CREATE INDEX ON "_Join:users:_Role" ("relatedId", "owningId");

CREATE TABLE "_Join:roles:_Role" (
    "owningId" text COLLATE "C" NOT NULL,
    "relatedId" text COLLATE "C" NOT NULL,
    PRIMARY KEY ("owningId", "relatedId")
);
CREATE INDEX ON "_Join:roles:_Role" ("relatedId", "owningId");

CREATE TABLE "_Installation" (
    "objectId" text COLLATE "C" PRIMARY KEY,
    "createdAt" timestamp(3) with time zone NOT NULL,
    "updatedAt" timestamp(3) with time zone NOT NULL,
    "_rperm" text[],
    "_wperm" text[],
    "installationId" text COLLATE "C",
    "deviceToken" text COLLATE "C",
    "deviceType" text COLLATE "C",
    "pushType" text COLLATE "C",
    "GCMSenderId" text COLLATE "C",
    "timeZone" text COLLATE "C",
    "localeIdentifier" text COLLATE "C",
    "appVersion" text COLLATE "C",
    "appName" text COLLATE "C",
    "appIdentifier" text COLLATE "C",
    "parseVersion" text COLLATE "C",
    "channels" jsonb,
    "badge" double precision
);
CREATE INDEX ON "_Installation" ("createdAt", "objectId");
CREATE INDEX ON "_Installation" ("installationId");
CREATE INDEX ON "_Installation" ("deviceToken");

INSERT INTO "_SCHEMA" VALUES
    ('_User', '{"fields": {}}'), ('_Session', '{"fields": {}}'), ('_Role', '{"fields": {}}'),
    ('_Installation', '{"fields": {}}');

-- Requests that came with an X-Parse-Request-Id: each is served once until it expires.
CREATE TABLE "_Idempotency" (
    "reqId" text COLLATE "C" PRIMARY KEY,
    "expire" timestamp(3) with time zone NOT NULL
);
CREATE INDEX ON "_Idempotency" ("expire");

-- AddUnique: appends the elements that are not there, in their order, each once.
CREATE FUNCTION hermes_add_unique(list jsonb, elements jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(list, '[]'::jsonb) || coalesce((
        SELECT jsonb_agg(element ORDER BY position)
        FROM (
            SELECT element, min(position) AS position
            FROM jsonb_array_elements(elements) WITH ORDINALITY AS e (element, position)
            GROUP BY element
        ) AS new
        WHERE NOT EXISTS (
            SELECT FROM jsonb_array_elements(coalesce(list, '[]'::jsonb)) AS old (element)
            WHERE old.element = new.element
        )
    ), '[]'::jsonb)
$$;

-- Remove: takes out every element that is equal to one of `elements`; the others keep their order.
CREATE FUNCTION hermes_remove(list jsonb, elements jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce((
        SELECT jsonb_agg(element ORDER BY position)
        FROM jsonb_array_elements(coalesce(list, '[]'::jsonb)) WITH ORDINALITY AS e (element, position)
        WHERE element NOT IN (SELECT jsonb_array_elements(elements))
    ), '[]'::jsonb)
$$;

-- Sets what lies at `path`, making the objects on the way. What is there and is no object is an error.
CREATE FUNCTION hermes_set(document jsonb, path text[], value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF document IS NULL OR document = 'null'::jsonb THEN
        document := '{}'::jsonb;
    END IF;
    IF jsonb_typeof(document) <> 'object' THEN
        RAISE EXCEPTION 'a dotted path leads into something that is no object' USING ERRCODE = 'HP111';
    END IF;
    IF array_length(path, 1) = 1 THEN
        RETURN document || jsonb_build_object(path[1], value);
    END IF;
    RETURN document || jsonb_build_object(path[1], hermes_set(document -> path[1], path[2:], value));
END
$$;

-- The number at `path`, 0 where there is none. Anything else than a number is an error.
CREATE FUNCTION hermes_number(document jsonb, path text[]) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    found jsonb := document #> path;
BEGIN
    IF found IS NULL OR found = 'null'::jsonb THEN
        RETURN 0;
    END IF;
    IF jsonb_typeof(found) <> 'number' THEN
        RAISE EXCEPTION 'only a number can be incremented' USING ERRCODE = 'HP111';
    END IF;
    RETURN found::double precision;
END
$$;

-- The list at `path`, empty where there is none. Anything else than a list is an error.
CREATE FUNCTION hermes_list(document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    found jsonb := document #> path;
BEGIN
    IF found IS NULL OR found = 'null'::jsonb THEN
        RETURN '[]'::jsonb;
    END IF;
    IF jsonb_typeof(found) <> 'array' THEN
        RAISE EXCEPTION 'elements can only be added to or removed from an array' USING ERRCODE = 'HP111';
    END IF;
    RETURN found;
END
$$;

-- Great-circle distance in radians between two points whose x is the longitude and y the latitude, in degrees
-- (haversine formula).
CREATE FUNCTION hermes_distance(one point, other point) RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT 2 * asin(least(1, sqrt(
        power(sin(radians(other[1] - one[1]) / 2), 2)
        + cos(radians(one[1])) * cos(radians(other[1])) * power(sin(radians(other[0] - one[0]) / 2), 2)
    )))
$$;
