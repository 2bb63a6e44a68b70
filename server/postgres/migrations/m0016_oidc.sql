-- Signing in by OpenID Connect: which groups of the provider give which role and scope, and sessions of people.

CREATE TABLE group_mappings (
  organization_id sluice_id NOT NULL,  -- '' is the platform
  tenant_id       sluice_id NOT NULL DEFAULT '' CHECK (tenant_id = ''),
  id              sluice_id PRIMARY KEY,
  version         bigint NOT NULL,
  document        json NOT NULL,
  group_name      text COLLATE "C" GENERATED ALWAYS AS (document ->> 'group') STORED UNIQUE,
  -- ids hold neither brackets nor quotes nor commas
  tenant_ids      text[] GENERATED ALWAYS AS
                    (string_to_array(translate(document ->> 'tenant_ids', '[]" ', ''), ',')) STORED,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX group_mappings_organization ON group_mappings (organization_id, id);

-- Seen as bindings are. Written by the platform: the provider's groups are not an organization's. Before a session is
-- known to be good, only the mapping that it presents can be seen.
DO $$
DECLARE
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
  held text := format('%3$s AND (%2$s = '''' OR (tenant_ids <> ''{}'' AND tenant_ids <@ string_to_array(%2$s, '','')))', org, list, mine);
BEGIN
  EXECUTE format('CREATE POLICY scope ON group_mappings FOR SELECT USING (%s)', held);
  EXECUTE format('CREATE POLICY platform ON group_mappings USING (%s = ''*'')', org);
  EXECUTE 'CREATE POLICY presented ON group_mappings FOR SELECT USING (id = (SELECT current_setting(''sluice.presented'', true)))';
  EXECUTE 'ALTER TABLE group_mappings ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY';
END $$;

-- A session stands for an admin token, or for a person whose group has a mapping. It ends with either.
ALTER TABLE console_sessions
  ALTER COLUMN token_id DROP NOT NULL,
  ADD COLUMN group_mapping_id sluice_id REFERENCES group_mappings (id) ON DELETE CASCADE,
  ADD COLUMN group_name text COLLATE "C",  -- of the mapping when the session began; with another one, the session has ended
  ADD COLUMN subject text COLLATE "C",     -- the person, as the provider names them
  ADD COLUMN document text,                -- the person and what they got, as the audit trail has it
  ADD CHECK ((token_id IS NULL) <> (group_mapping_id IS NULL)),
  ADD CHECK ((group_mapping_id IS NULL) = (group_name IS NULL OR subject IS NULL OR document IS NULL));
CREATE INDEX console_sessions_mapping ON console_sessions (group_mapping_id) WHERE group_mapping_id IS NOT NULL;
CREATE INDEX console_sessions_subject ON console_sessions (subject, created_at) WHERE subject IS NOT NULL;

-- Who sees the token or the mapping sees its sessions.
DROP POLICY scope ON console_sessions;
CREATE POLICY scope ON console_sessions USING (
  EXISTS (SELECT FROM tokens WHERE tokens.id = token_id AND tokens.organization_id = console_sessions.organization_id) OR
  EXISTS (SELECT FROM group_mappings WHERE group_mappings.id = group_mapping_id
                                       AND group_mappings.organization_id = console_sessions.organization_id));

-- Sign-ins that have become a session, so that none becomes two.
CREATE TABLE used_sign_ins (
  hash       text PRIMARY KEY,  -- SHA-256 of what the provider was given as `state`, in hex
  expires_at timestamptz NOT NULL
);
CREATE INDEX used_sign_ins_expiry ON used_sign_ins (expires_at);
CREATE POLICY platform ON used_sign_ins USING ((SELECT current_setting('sluice.organization', true)) = '*');
ALTER TABLE used_sign_ins ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, UPDATE, DELETE ON group_mappings TO {{app}};
GRANT SELECT, INSERT, DELETE ON used_sign_ins TO {{app}};
