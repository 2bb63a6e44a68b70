"""Many entries of an audit trail, chained as the server chains them, in seconds."""

from support.postgres import Database

# As server/store/chain: the hash of the entry before, then each field; numbers as 8 bytes, before each text its length.
_ADD = """
DO $do$
DECLARE
  head  audit_heads%ROWTYPE;
  organization text := {organization};
  n     bigint;
  at    timestamptz := now();
BEGIN
  SELECT * INTO head FROM audit_heads WHERE organization_id = organization;
  FOR n IN head.seq + 1 .. head.seq + {count} LOOP
    head.hash := sha256(head.hash
      || int8send(octet_length(organization)) || convert_to(organization, 'UTF8') || int8send(n)
      || int8send(0) || int8send((extract(epoch FROM at) * 1000000)::bigint)
      || int8send(1) || 'a'::bytea || int8send(1) || 'r'::bytea || int8send(1) || 's'::bytea || int8send(1) || 'q'::bytea
      || int8send(6) || 'update'::bytea || int8send(4) || 'plan'::bytea || int8send(1) || 'p'::bytea || int8send(1)
      || int8send(0) || int8send(0) || int8send(1));
    INSERT INTO audit VALUES (organization, n, '', at, 'a', 'r', 's', 'q', 'update', 'plan', 'p', 1, NULL, NULL, 1, head.hash);
  END LOOP;
  UPDATE audit_heads SET seq = head.seq + {count}, hash = head.hash WHERE organization_id = organization;
END $do$"""


def add_entries(database: Database, organization: str, count: int) -> None:
    """Adds so many entries to the end of the organization's chain."""
    assert organization.replace("-", "").replace(".", "").isalnum()
    database.execute(_ADD.format(organization=f"'{organization}'", count=count))
