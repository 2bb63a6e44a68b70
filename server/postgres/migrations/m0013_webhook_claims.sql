-- Deliveries that are asked for again count their attempts anew, and servers take turns in looking for events.

-- From here on `attempts` only numbers the claims, and never shrinks: a server records what came of a delivery only under the newest
-- number. A server for schema 12 does the same, so it can run beside later ones. What people see, and what the back-off counts, is
-- attempts - attempts_before.
ALTER TABLE webhook_deliveries ADD COLUMN attempts_before integer NOT NULL DEFAULT 0;

-- Its one row says which tenants' usage was looked at last for events, and when. A server locks it while it looks.
CREATE TABLE webhook_looks (
  one          boolean PRIMARY KEY DEFAULT true CHECK (one),
  after_tenant sluice_id NOT NULL DEFAULT '',  -- the next one follows it; '': a round begins
  looked_at    timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO webhook_looks DEFAULT VALUES;
CREATE POLICY server ON webhook_looks USING ((SELECT current_setting('sluice.organization', true)) = '*');
ALTER TABLE webhook_looks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

GRANT SELECT, UPDATE ON webhook_looks TO {{app}};
