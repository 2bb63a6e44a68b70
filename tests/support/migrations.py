"""Takes migrations of a database back, so that a test can upgrade what a server of an earlier version has left."""

import re
from pathlib import Path

from support.postgres import Database

FOLDER = Path(__file__).parents[2] / "server/postgres/migrations"


def _count_use_of_the_sixth() -> str:
    sixth = (FOLDER / "m0006_quotas.sql").read_text()
    return "CREATE OR REPLACE " + re.findall(r"CREATE (FUNCTION count_use.*?\nEND \$\$;)", sixth, re.S)[0]


# By the number of the migration, what it made.
_UNDO: dict[int, list[str]] = {
    6: ["DROP FUNCTION count_use CASCADE", "DROP TABLE quotas, quota_use"],
    7: ["DROP TABLE organization_use", "ALTER TABLE plans DROP COLUMN name", "ALTER TABLE policies DROP COLUMN name",
        _count_use_of_the_sixth()],
    8: ["DROP POLICY forget ON changes", "DROP FUNCTION forget_changes", "DROP TABLE forgotten_changes"],
    9: ["DROP TABLE usage_unmatched"],
    10: ["ALTER TABLE revisions DROP COLUMN traceparent"],
    11: ["DROP TABLE webhook_deliveries, webhooks"],
    12: ["DROP TABLE usage_quotas"],
    13: ["ALTER TABLE webhook_deliveries DROP COLUMN attempts_before", "DROP TABLE webhook_looks"],
    14: ["DROP TABLE console_sessions"],
    15: ["DROP TABLE whatif_answers, whatif_questions"],
    16: ["DROP POLICY scope ON console_sessions",
         "CREATE POLICY scope ON console_sessions USING (EXISTS (SELECT FROM tokens WHERE tokens.id = token_id AND "
         "tokens.organization_id = console_sessions.organization_id))",
         "DELETE FROM console_sessions WHERE token_id IS NULL",
         "ALTER TABLE console_sessions DROP COLUMN group_mapping_id CASCADE, DROP COLUMN group_name CASCADE, "
         "DROP COLUMN subject CASCADE, DROP COLUMN document CASCADE, ALTER COLUMN token_id SET NOT NULL",
         "DROP TABLE group_mappings, used_sign_ins"],
    17: ["DROP TABLE usage_utilization"],
    18: ["ALTER TABLE keys DROP COLUMN used_at", "ALTER TABLE tokens DROP COLUMN used_at"],
}


def take_back_migrations(database: Database, first: int) -> None:
    """Takes back this migration and all later ones."""
    for number in sorted(_UNDO, reverse=True):
        if number >= first:
            for statement in _UNDO[number]:
                database.execute(statement)
    database.execute("DELETE FROM schema_migrations WHERE version >= %s", (first,))
