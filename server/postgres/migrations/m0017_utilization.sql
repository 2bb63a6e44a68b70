-- How much was used of the limits that decided a policy's checks, by minute. organization_id is '' where the tenant was
-- gone when it was stored. Agents of earlier releases do not report it.
CREATE TABLE usage_utilization (
  minute          timestamptz NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  policy_id       sluice_id NOT NULL,  -- '': checks that named a plan
  decisions       bigint NOT NULL,     -- that a limit judged
  near_limit      bigint NOT NULL,     -- of these, after which more than 80 % of the limit was used
  used            bigint NOT NULL,     -- the sum of the shares that were used, in ten-thousandths
  PRIMARY KEY (minute, tenant_id, policy_id, organization_id)
);
CREATE INDEX usage_utilization_tenant ON usage_utilization (tenant_id, minute);

DO $$
DECLARE
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
BEGIN
  EXECUTE format('CREATE POLICY scope ON usage_utilization USING (%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR '
                 'tenant_id = ANY (string_to_array(%2$s, '','')))))', org, list, mine);
END $$;
ALTER TABLE usage_utilization ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON usage_utilization TO {{app}};
