-- Quotas of organizations and tenants, and what they use of them.

-- One row for each organization or tenant that has other quotas than the defaults; id is that of the organization or tenant.
CREATE TABLE quotas (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL DEFAULT '',  -- '': the quotas of the organization
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  document        json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX quotas_organization ON quotas (organization_id, tenant_id);

-- What tenants use is the sum of their rows. Each statement that writes objects adds a row, so that writers do not wait for
-- each other here. The server replaces many rows of a tenant by their sum.
CREATE TABLE quota_use (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  plans           bigint NOT NULL,
  policies        bigint NOT NULL,
  keys            bigint NOT NULL,
  bytes           bigint NOT NULL  -- of documents
);
CREATE INDEX quota_use_tenant ON quota_use (organization_id, tenant_id);

-- The owner's rows are hidden from the owner too, unless it enters the scope of everything.
SELECT set_config('sluice.organization', '*', true);
INSERT INTO quota_use
SELECT organization_id, tenant_id, sum(plans), sum(policies), sum(keys), sum(bytes)
FROM (SELECT organization_id, tenant_id, 1 AS plans, 0 AS policies, 0 AS keys, octet_length(document::text) AS bytes FROM plans
      UNION ALL SELECT organization_id, tenant_id, 0, 1, 0, octet_length(document::text) FROM policies
      UNION ALL SELECT organization_id, tenant_id, 0, 0, 1, octet_length(document::text) FROM keys) objects
GROUP BY organization_id, tenant_id;
SELECT set_config('sluice.organization', '', true);

CREATE FUNCTION count_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  plan   integer := (TG_TABLE_NAME = 'plans')::integer;
  policy integer := (TG_TABLE_NAME = 'policies')::integer;
  key    integer := (TG_TABLE_NAME = 'keys')::integer;
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO quota_use
    SELECT organization_id, tenant_id, plan * count(*), policy * count(*), key * count(*), sum(octet_length(document::text))
    FROM made GROUP BY organization_id, tenant_id;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO quota_use
    SELECT organization_id, tenant_id, -plan * count(*), -policy * count(*), -key * count(*), -sum(octet_length(document::text))
    FROM gone GROUP BY organization_id, tenant_id;
  ELSE
    INSERT INTO quota_use
    SELECT organization_id, tenant_id, 0, 0, 0, sum(bytes)
    FROM (SELECT organization_id, tenant_id, octet_length(document::text) AS bytes FROM made
          UNION ALL SELECT organization_id, tenant_id, -octet_length(document::text) FROM gone) both_states
    GROUP BY organization_id, tenant_id HAVING sum(bytes) <> 0;
  END IF;
  RETURN NULL;
END $$;

DO $$
DECLARE
  name text;
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
BEGIN
  FOREACH name IN ARRAY ARRAY['plans', 'policies', 'keys'] LOOP
    EXECUTE format('CREATE TRIGGER use_made AFTER INSERT ON %I REFERENCING NEW TABLE AS made '
                   'FOR EACH STATEMENT EXECUTE FUNCTION count_use()', name);
    EXECUTE format('CREATE TRIGGER use_gone AFTER DELETE ON %I REFERENCING OLD TABLE AS gone '
                   'FOR EACH STATEMENT EXECUTE FUNCTION count_use()', name);
    EXECUTE format('CREATE TRIGGER use_changed AFTER UPDATE ON %I REFERENCING OLD TABLE AS gone NEW TABLE AS made '
                   'FOR EACH STATEMENT EXECUTE FUNCTION count_use()', name);
  END LOOP;
  -- Numbers of the whole organization decide about each of its tenants, so every scope in the organization sees them.
  FOREACH name IN ARRAY ARRAY['quotas', 'quota_use'] LOOP
    EXECUTE format('CREATE POLICY scope ON %I USING (%s = ''*'' OR %s)', name, org, mine);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON quotas TO {{app}};
GRANT SELECT, INSERT, DELETE ON quota_use TO {{app}};
