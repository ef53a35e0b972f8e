-- The yardstick: the best SQL for what each request of scripts/bench answers, written by hand, as scripts for pgbench.
-- It owes nothing to what Hermes sends. The rules that it keeps to:
--   · the same answer: the same objects in the same, total order, every column that the answer shows, and the check of
--     the ACL, since that decides what is answered;
--   · no column that the answer does not show, limits written out, prepared once and run with the generic plan;
--   · who asks (:viewer, all names an ACL may know them by; :me, their id) is a literal: pgbench serves one viewer only;
--   · only indexes that Hermes itself has made.
-- Where two variants of a name stand here, the faster one counts; a short trial before the rounds finds it.
--
-- "-- name:" opens a statement's section; "-- variant:" sets apart several for one name; "-- set:" lists settings that
-- lead the planner to the better plan (200 members fit into a few pages: it would rather read them all than look 20
-- up); "-- plan:" says what the plan must contain, and with "not" what it must not: scripts/bench looks before it measures.
-- pgbench takes a colon within a literal for a variable, too: there it is written \003A.
-- pgbench draws :id, :topic, :second and :new; scripts/bench writes in :viewer, :me and :authors (those of one page).

-- name: get
-- plan: Index Scan using "Temas_pkey"
\set id random(1000000001, 1000001000)
SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Abierto", "Autor", "Etiquetas", "Idioma", "Tema",
    "Texto", "Votos"
FROM "Temas"
WHERE "objectId" = :id AND ("_rperm" IS NULL OR "_rperm" && :viewer);

-- name: find
-- plan: Index Scan Backward
-- plan: not Sort
\set second random(0, 56999)
SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Abierto", "Autor", "Etiquetas", "Idioma", "Tema",
    "Texto", "Votos"
FROM "Temas"
WHERE "createdAt" <= timestamptz '20240101T005000Z' + :second * interval '1 second'
    AND ("_rperm" IS NULL OR "_rperm" && :viewer)
ORDER BY "createdAt" DESC, "objectId" DESC
LIMIT 50;

-- name: comments
-- variant: one join
-- set: enable_seqscan=off enable_hashjoin=off
-- plan: Nested Loop
-- plan: not Sort
\set topic random(1000000001, 1000001000)
SELECT c."objectId", c."createdAt", c."updatedAt", c."_rperm", c."_wperm", c."Tema", c."Texto", c."Votos",
    a."objectId", a."createdAt", a."updatedAt", a."_rperm", a."_wperm", a."Nombre", a."username", a."emailVerified",
    CASE WHEN a."objectId" = :me THEN a."email" END, CASE WHEN a."objectId" = :me THEN a."authData" END
FROM (
    SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Tema", "Texto", "Votos", "Autor"
    FROM "Comentarios"
    WHERE "Tema" = :topic AND ("_rperm" IS NULL OR "_rperm" && :viewer)
    ORDER BY "createdAt", "objectId"
    LIMIT 20
) c
LEFT JOIN "_User" a ON a."objectId" = c."Autor" AND (a."_rperm" IS NULL OR a."_rperm" && :viewer)
ORDER BY c."createdAt", c."objectId";

-- variant: two statements
-- set: enable_seqscan=off
-- plan: Scan on "_User_pkey"
-- plan: not Sort
\set topic random(1000000001, 1000001000)
SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Tema", "Texto", "Votos", "Autor"
FROM "Comentarios"
WHERE "Tema" = :topic AND ("_rperm" IS NULL OR "_rperm" && :viewer)
ORDER BY "createdAt", "objectId"
LIMIT 20;
SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Nombre", "username", "emailVerified",
    CASE WHEN "objectId" = :me THEN "email" END, CASE WHEN "objectId" = :me THEN "authData" END
FROM "_User"
WHERE "objectId" = ANY (:authors) AND ("_rperm" IS NULL OR "_rperm" && :viewer);

-- name: create
-- plan: Insert on "Comentarios"
\set new random(100000000000000, 999999999999999)
\set topic random(1000000001, 1000001000)
INSERT INTO "Comentarios" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Texto", "Tema", "Votos")
VALUES (:new, now(), now(), U&'{*,role\003Amoderadores}', U&'{role\003Amoderadores}',
    'El tramo 500 está embarrado; mejor por la carretera vieja.', :topic, 0)
RETURNING "createdAt";

-- name: update
-- plan: Index Scan using "Temas_pkey"
\set id random(1000000001, 1000001000)
UPDATE "Temas" SET "updatedAt" = now(), "Votos" = coalesce("Votos", 0) + 1
WHERE "objectId" = :id AND ("_wperm" IS NULL OR "_wperm" && :viewer)
RETURNING "updatedAt", "Votos";

-- name: same get
-- plan: Index Scan using "Temas_pkey"
SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Abierto", "Autor", "Etiquetas", "Idioma", "Tema",
    "Texto", "Votos"
FROM "Temas"
WHERE "objectId" = '1000000001' AND ("_rperm" IS NULL OR "_rperm" && :viewer);

-- name: same find
-- plan: Index Scan Backward
-- plan: not Sort
SELECT "objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "Abierto", "Autor", "Etiquetas", "Idioma", "Tema",
    "Texto", "Votos"
FROM "Temas"
WHERE "_rperm" IS NULL OR "_rperm" && :viewer
ORDER BY "createdAt" DESC, "objectId" DESC
LIMIT 50;
