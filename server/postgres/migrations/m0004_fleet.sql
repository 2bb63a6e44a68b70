-- What agents report: where each one is, what was decided by the minute, who was throttled by the hour; and how far each
-- agent's numbered reports are counted.
--
-- `scope` is how far an agent's token reaches, as a short text: the organization, and where it reaches some tenants only,
-- '/' and a hash of their list. Agents of one name and scope are one, whichever token they show: tokens are renewed.

CREATE TABLE agents (
  scope           sluice_id NOT NULL,
  agent_id        sluice_id NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_ids      text[] NOT NULL,
  token_id        text NOT NULL,
  state           jsonb,        -- pod, boot_id, version, degraded, refusal; NULL: it has opened a watch, and not reported yet
  revision        bigint,       -- what it enforces; NULL: nothing yet
  chain           bytea,
  reported_at     timestamptz,
  refused_at      timestamptz,  -- since when it reports the refusal of `state`
  heard_at        timestamptz NOT NULL,
  watch           text,         -- the replica to which it has a watch; '': the last one was lost; NULL: none is known of
  watch_at        timestamptz,  -- when that replica last had it open
  held_revision   bigint,       -- where it said that it is when it last opened a watch; -1: nowhere yet
  held_at         timestamptz,
  gone            boolean NOT NULL DEFAULT false,  -- it said that it ends
  PRIMARY KEY (scope, agent_id)
) WITH (fillfactor = 50);       -- rows are rewritten every few seconds, and no index is of what changes

-- Decisions. organization_id is '' where the tenant was gone when they were stored.
CREATE TABLE usage (
  minute          timestamptz NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  policy_id       sluice_id NOT NULL,  -- '': none applied
  outcome         sluice_id NOT NULL,
  count           bigint NOT NULL,
  PRIMARY KEY (minute, tenant_id, policy_id, outcome, organization_id)
);
CREATE INDEX usage_tenant ON usage (tenant_id, minute);

CREATE TABLE usage_subjects (
  hour            timestamptz NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  policy_id       sluice_id NOT NULL,
  subject         sluice_id NOT NULL,
  count           bigint NOT NULL,
  PRIMARY KEY (hour, tenant_id, policy_id, subject, organization_id)
);
CREATE INDEX usage_subjects_tenant ON usage_subjects (tenant_id, hour);

CREATE TABLE report_marks (
  scope    sluice_id NOT NULL,
  agent_id sluice_id NOT NULL,
  boot_id  sluice_id NOT NULL,
  number   bigint NOT NULL,      -- the last report that is counted
  heard_at timestamptz NOT NULL,
  PRIMARY KEY (scope, agent_id, boot_id)
);

DO $$
DECLARE
  name text;
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
  seen text := format('%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR tenant_id = ANY (string_to_array(%2$s, '',''))))', org, list, mine);
  -- As a token: one without tenants reaches all of its organization, and so is beyond who is limited to some.
  held text := format('%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR (tenant_ids <> ''{}'' AND tenant_ids <@ string_to_array(%2$s, '',''))))', org, list, mine);
BEGIN
  FOREACH name IN ARRAY ARRAY['usage', 'usage_subjects'] LOOP
    EXECUTE format('CREATE POLICY scope ON %I USING (%s)', name, seen);
  END LOOP;
  EXECUTE format('CREATE POLICY scope ON agents USING (%s)', held);
  EXECUTE format('CREATE POLICY server ON report_marks USING (%s = ''*'')', org);
  FOREACH name IN ARRAY ARRAY['agents', 'usage', 'usage_subjects', 'report_marks'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON agents, usage, usage_subjects, report_marks TO {{app}};
