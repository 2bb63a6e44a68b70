-- The quotas of which agents saw 80 % or 100 % used up, each once in its period, for the events of webhooks. organization_id is ''
-- where the tenant was gone when they were stored.
CREATE TABLE usage_quotas (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  policy_id       sluice_id NOT NULL,  -- '': the check named a plan
  plan_id         sluice_id NOT NULL,  -- '': the policy has limits of its own
  limit_name      sluice_id NOT NULL,
  counter         sluice_id NOT NULL,
  percent         smallint NOT NULL,
  quota           bigint NOT NULL,
  period_from     timestamptz NOT NULL,
  period_to       timestamptz NOT NULL,
  subject         sluice_id NOT NULL,  -- as the policy reports it; '': the counter is not one subject's
  used            bigint NOT NULL,
  stored_at       timestamptz NOT NULL DEFAULT now(),
  seen            boolean NOT NULL DEFAULT false,  -- its events were made
  PRIMARY KEY (tenant_id, policy_id, plan_id, limit_name, counter, percent, quota, period_from, organization_id)
);
CREATE INDEX usage_quotas_unseen ON usage_quotas (tenant_id, stored_at) WHERE NOT seen;
CREATE INDEX usage_quotas_age ON usage_quotas (stored_at);

DO $$
DECLARE
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
BEGIN
  EXECUTE format('CREATE POLICY scope ON usage_quotas USING (%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR '
                 'tenant_id = ANY (string_to_array(%2$s, '','')))))', org, list, mine);
END $$;
ALTER TABLE usage_quotas ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON usage_quotas TO {{app}};
