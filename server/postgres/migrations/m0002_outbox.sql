-- What Redis must still be told: a row is written in the transaction that changes overrides, and removed when Redis has
-- answered. It names a counter's key, not what shall be in it: whoever publishes reads what is live then.

CREATE TABLE outbox (
  seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  policy_id       sluice_id NOT NULL,  -- whose counter it is: the policy's, or '' for that of calls by plan
  plan_id         sluice_id NOT NULL,  -- the policy's plan, '' where it has limits of its own
  identity        text NOT NULL,       -- as in the document of an override
  identity_hash   bigint GENERATED ALWAYS AS (hashtextextended(identity, 0)) STORED,
  state_key       text NOT NULL,
  reset           boolean NOT NULL,    -- what was spent shall be forgotten; else: its overrides shall be written
  made_at         timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX outbox_identity ON outbox (tenant_id, identity_hash);

-- All overrides of one counter's key have one identity. (A column and no index of an expression: under row-level security
-- an index is used for leakproof conditions only.)
ALTER TABLE overrides ADD COLUMN identity_hash bigint
  GENERATED ALWAYS AS (hashtextextended(document ->> 'identity', 0)) STORED;
CREATE INDEX overrides_identity ON overrides (tenant_id, identity_hash);

DO $$
DECLARE
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
BEGIN
  EXECUTE format('CREATE POLICY scope ON outbox USING (%1$s = ''*'' OR (%1$s <> '''' AND organization_id = %1$s AND (%2$s = '''' OR tenant_id = ANY (string_to_array(%2$s, '','')))))', org, list);
  EXECUTE 'ALTER TABLE outbox ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
END $$;

GRANT SELECT, INSERT, DELETE ON outbox TO {{app}};
