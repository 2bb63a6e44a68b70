-- The resources that agents checked most often while no policy matched them. organization_id is '' where the tenant was
-- gone when they were stored.
CREATE TABLE usage_unmatched (
  hour            timestamptz NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  resource        sluice_id NOT NULL,
  count           bigint NOT NULL,
  PRIMARY KEY (hour, tenant_id, resource, organization_id)
);
CREATE INDEX usage_unmatched_tenant ON usage_unmatched (tenant_id, hour);

DO $$
DECLARE
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
BEGIN
  EXECUTE format('CREATE POLICY scope ON usage_unmatched USING (%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR '
                 'tenant_id = ANY (string_to_array(%2$s, '','')))))', org, list, mine);
END $$;
ALTER TABLE usage_unmatched ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON usage_unmatched TO {{app}};
