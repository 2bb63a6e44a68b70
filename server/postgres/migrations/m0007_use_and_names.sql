-- What organizations use, so that it need not be summed over all of their tenants.

-- No object is written until the end of this transaction, so the amounts below are exact. The order is that of the server's
-- writers.
LOCK TABLE plans IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE policies IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE keys IN SHARE ROW EXCLUSIVE MODE;

-- As quota_use: the use is the sum of the rows, and the server replaces many rows of an organization by their sum.
CREATE TABLE organization_use (
  organization_id sluice_id NOT NULL,
  plans           bigint NOT NULL,
  policies        bigint NOT NULL,
  keys            bigint NOT NULL,
  bytes           bigint NOT NULL  -- of documents
);
CREATE INDEX organization_use_organization ON organization_use (organization_id);

SELECT set_config('sluice.organization', '*', true);
DELETE FROM quota_use;
INSERT INTO quota_use
SELECT organization_id, tenant_id, sum(plans), sum(policies), sum(keys), sum(bytes)
FROM (SELECT organization_id, tenant_id, 1 AS plans, 0 AS policies, 0 AS keys, octet_length(document::text) AS bytes FROM plans
      UNION ALL SELECT organization_id, tenant_id, 0, 1, 0, octet_length(document::text) FROM policies
      UNION ALL SELECT organization_id, tenant_id, 0, 0, 1, octet_length(document::text) FROM keys) objects
GROUP BY organization_id, tenant_id;
INSERT INTO organization_use
SELECT organization_id, sum(plans), sum(policies), sum(keys), sum(bytes) FROM quota_use GROUP BY organization_id;
SELECT set_config('sluice.organization', '', true);

-- The triggers of quota_use call this function too. So the objects that a server of an earlier version writes are counted.
CREATE OR REPLACE FUNCTION count_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  plan   integer := (TG_TABLE_NAME = 'plans')::integer;
  policy integer := (TG_TABLE_NAME = 'policies')::integer;
  key    integer := (TG_TABLE_NAME = 'keys')::integer;
BEGIN
  IF TG_OP = 'INSERT' THEN
    WITH counted AS (
      INSERT INTO quota_use
      SELECT organization_id, tenant_id, plan * count(*), policy * count(*), key * count(*), sum(octet_length(document::text))
      FROM made GROUP BY organization_id, tenant_id RETURNING *)
    INSERT INTO organization_use
    SELECT organization_id, sum(plans), sum(policies), sum(keys), sum(bytes) FROM counted GROUP BY organization_id;
  ELSIF TG_OP = 'DELETE' THEN
    WITH counted AS (
      INSERT INTO quota_use
      SELECT organization_id, tenant_id, -plan * count(*), -policy * count(*), -key * count(*), -sum(octet_length(document::text))
      FROM gone GROUP BY organization_id, tenant_id RETURNING *)
    INSERT INTO organization_use
    SELECT organization_id, sum(plans), sum(policies), sum(keys), sum(bytes) FROM counted GROUP BY organization_id;
  ELSE
    WITH counted AS (
      INSERT INTO quota_use
      SELECT organization_id, tenant_id, 0, 0, 0, sum(bytes)
      FROM (SELECT organization_id, tenant_id, octet_length(document::text) AS bytes FROM made
            UNION ALL SELECT organization_id, tenant_id, -octet_length(document::text) FROM gone) both_states
      GROUP BY organization_id, tenant_id HAVING sum(bytes) <> 0 RETURNING *)
    INSERT INTO organization_use
    SELECT organization_id, 0, 0, 0, sum(bytes) FROM counted GROUP BY organization_id;
  END IF;
  RETURN NULL;
END $$;

DO $$
DECLARE
  org text := '(SELECT current_setting(''sluice.organization'', true))';
BEGIN
  EXECUTE format('CREATE POLICY scope ON organization_use USING (%1$s = ''*'' OR (%1$s <> '''' AND organization_id = %1$s))', org);
  ALTER TABLE organization_use ENABLE ROW LEVEL SECURITY;
  ALTER TABLE organization_use FORCE ROW LEVEL SECURITY;
END $$;

GRANT SELECT, INSERT, DELETE ON organization_use TO {{app}};

-- Names of plans and policies, for finding two objects of one tenant with the same name. No constraint: a database of an
-- earlier version may have such objects, and they stay until they are written.
--
-- A generated column, not an index on an expression: row-level security lets PostgreSQL look up only plain columns.

ALTER TABLE plans ADD COLUMN name sluice_id GENERATED ALWAYS AS (document ->> 'name') STORED;
ALTER TABLE policies ADD COLUMN name sluice_id GENERATED ALWAYS AS (document ->> 'name') STORED;
CREATE INDEX plans_name ON plans (tenant_id, name) WHERE name IS NOT NULL;
CREATE INDEX policies_name ON policies (tenant_id, name) WHERE name IS NOT NULL;
