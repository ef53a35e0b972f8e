"""Many rows are stored soonest in a table without indexes."""
import json


def of(table, lines):
    """Statements that take the table's indexes away, and those that make them again; `lines` answers a query."""
    pairs = [json.loads(line) for line in lines(f"""SELECT json_build_array(
            CASE WHEN c.oid IS NULL THEN format('DROP INDEX %s;', i.indexrelid::regclass)
                ELSE format('ALTER TABLE %s DROP CONSTRAINT %I;', i.indrelid::regclass, c.conname) END,
            CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid) || ';'
                ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s;', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END)
        FROM pg_index i LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid
        WHERE i.indrelid = '"{table}"'::regclass""")]
    return [drop for drop, _ in pairs], [make for _, make in pairs]
