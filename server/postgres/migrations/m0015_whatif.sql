-- The questions of what-if that agents are answering now, and their answers. Both live for seconds.
CREATE TABLE whatif_questions (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL PRIMARY KEY,
  policy_id       sluice_id NOT NULL,
  policy          json NOT NULL,    -- the edited policy, as agents get it
  from_us         bigint NOT NULL,  -- on the clock of the counter store
  to_us           bigint NOT NULL,
  asked_at        timestamptz NOT NULL DEFAULT now(),
  expires_at      timestamptz NOT NULL
);

-- One answer of each agent.
CREATE TABLE whatif_answers (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  question_id     sluice_id NOT NULL REFERENCES whatif_questions (id) ON DELETE CASCADE,
  scope           sluice_id NOT NULL,  -- with the agent's id, the key of its row in agents
  agent_id        text COLLATE "C" NOT NULL,
  answer          json NOT NULL,
  PRIMARY KEY (question_id, scope, agent_id)
);

DO $$
DECLARE
  name text;
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
BEGIN
  FOREACH name IN ARRAY ARRAY['whatif_questions', 'whatif_answers'] LOOP
    EXECUTE format('CREATE POLICY scope ON %4$I USING (%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR '
                   'tenant_id = ANY (string_to_array(%2$s, '','')))))', org, list, mine, name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON whatif_questions, whatif_answers TO {{app}};
