"""Members of the forum that `hermes serve --app forum` serves: some who sign up, and many more by SQL."""
import json
import time

from server import API, stop


def sign_up(hermes, count):
    """Members who have been here for a day, so that the limits of new ones are not theirs; their sessions."""
    sessions = []
    for number in range(count):
        made = hermes.request("POST", f"{API}/functions/registrar", json.dumps({
            "usuario": f"autor{number}", "contraseña": "viaje-2026", "correo": f"autor{number}@example.com",
            "nombre": "Ana", "movil": "600100200", "ciudad": "Soria"}))
        sessions.append(made["result"]["sessionToken"])
    hermes.sql("""UPDATE "_User" SET "createdAt" = now() - interval '2 days'""")
    hermes.request("POST", f"{API}/jobs/ascender", "{}", master=True)
    wait(hermes)
    return sessions


def add(hermes, count, willing="true"):
    """So many more, past all rules; `willing` says of number n whether it wants notices."""
    hermes.sql(
        f"""INSERT INTO "_User" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "username", "email", "clave")
            SELECT id, now(), now(), ARRAY['*', id], ARRAY[id], 'socio' || n, 'socio' || n || '@example.com', 'socio' || n
            FROM generate_series(1, {count}) AS n, LATERAL (SELECT 'u' || lpad(n::text, 9, '0') AS id) AS ids""",
        f"""INSERT INTO "_Join:users:_Role" ("relatedId", "owningId")
            SELECT 'u' || lpad(n::text, 9, '0'), "objectId" FROM generate_series(1, {count}) AS n, "_Role"
            WHERE "name" = 'miembros'""",
        f"""INSERT INTO "Persona" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "usuario", "avisos",
                "localizable", "Nombre", "ciudad", "Correo", "Movil", "idioma")
            SELECT 'p' || md5(n::text), now(), now(), ARRAY['role:miembros', 'role:nuevos', id], ARRAY[id], id, {willing},
                true, 'Luz', 'Jaca', 'socio' || n || '@example.com', '600' || lpad(n::text, 6, '0'), 'es'
            FROM generate_series(1, {count}) AS n, LATERAL (SELECT 'u' || lpad(n::text, 9, '0') AS id) AS ids""")


def wait(hermes, patience=600):
    """Until no job is left to do."""
    until = time.monotonic() + patience
    while int(hermes.sql(
            """SELECT count(*) FROM "_Job" WHERE "kind" = 'parse' AND "state" IN ('waiting', 'running')""")[0]):
        if time.monotonic() > until:
            stop(f"the forum's jobs are not finished after {patience} s")
        time.sleep(0.05)
