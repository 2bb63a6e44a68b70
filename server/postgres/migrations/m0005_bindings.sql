-- Whose policies the pods of a Kubernetes namespace get: a service account's, or with '*' those of all that have no binding
-- of their own; and how far their agents reach, as an agent token says it.

CREATE TABLE bindings (
  organization_id sluice_id NOT NULL,  -- '' is the platform
  tenant_id       sluice_id NOT NULL DEFAULT '' CHECK (tenant_id = ''),
  id              sluice_id PRIMARY KEY,
  version         bigint NOT NULL,
  document        json NOT NULL,
  namespace       sluice_id GENERATED ALWAYS AS (document ->> 'namespace') STORED,
  service_account sluice_id GENERATED ALWAYS AS (document ->> 'service_account') STORED,
  -- ids hold neither brackets nor quotes nor commas
  tenant_ids      text[] GENERATED ALWAYS AS
                    (string_to_array(translate(document ->> 'tenant_ids', '[]" ', ''), ',')) STORED,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (namespace, service_account)
);
CREATE INDEX bindings_organization ON bindings (organization_id, id);

-- Seen as tokens are: one without tenants reaches all of its organization, and so is beyond who is limited to some. Written
-- by the platform: namespaces are not an organization's.
DO $$
DECLARE
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
  held text := format('%3$s AND (%2$s = '''' OR (tenant_ids <> ''{}'' AND tenant_ids <@ string_to_array(%2$s, '','')))', org, list, mine);
BEGIN
  EXECUTE format('CREATE POLICY scope ON bindings FOR SELECT USING (%s)', held);
  EXECUTE format('CREATE POLICY platform ON bindings USING (%s = ''*'')', org);
  EXECUTE 'ALTER TABLE bindings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON bindings TO {{app}};
