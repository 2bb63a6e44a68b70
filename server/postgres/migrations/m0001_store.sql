-- What the server owns: objects, their versions, the audit trail, the changes agents follow, and one revision.
--
-- {{app}} is the application's role. It reads and writes rows, sees only what its transaction's scope allows (below),
-- and can neither change nor remove what is in audit, versions and changes.

-- Ids and other names compare byte by byte, whatever the database's locale.
CREATE DOMAIN sluice_id AS text COLLATE "C";

-- Objects. `document` is the canonical form byte for byte, without tokens' secrets; what constraints and filters need
-- of it is generated from it, so that the two cannot differ.

CREATE TABLE organizations (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL DEFAULT '' CHECK (tenant_id = ''),
  id              sluice_id PRIMARY KEY CHECK (id = organization_id),
  version         bigint NOT NULL,
  document        json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE tenants (
  organization_id sluice_id NOT NULL REFERENCES organizations (id),
  tenant_id       sluice_id NOT NULL,
  id              sluice_id PRIMARY KEY CHECK (id = tenant_id),
  version         bigint NOT NULL,
  document        json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  UNIQUE (organization_id, id)
);

CREATE TABLE plans (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  document        json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (organization_id, tenant_id) REFERENCES tenants (organization_id, id)
);

CREATE TABLE policies (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  document        json NOT NULL,
  place           bytea NOT NULL,    -- SHA-256 of to whom it applies: equal ones conflict
  unindexed       boolean NOT NULL,  -- its scope has no dimension that an index can use
  plan_id         sluice_id GENERATED ALWAYS AS (document ->> 'plan_id') STORED,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (organization_id, tenant_id) REFERENCES tenants (organization_id, id),
  FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id)
);
CREATE INDEX policies_plan ON policies (tenant_id, plan_id) WHERE plan_id IS NOT NULL;
CREATE INDEX policies_place ON policies (tenant_id, place);
CREATE INDEX policies_unindexed ON policies (tenant_id) WHERE unindexed;

CREATE TABLE keys (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id PRIMARY KEY,
  version         bigint NOT NULL,
  document        json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (organization_id, tenant_id) REFERENCES tenants (organization_id, id)
);
CREATE INDEX keys_tenant ON keys (tenant_id, id);

CREATE TABLE overrides (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  document        json NOT NULL,
  target          bytea NOT NULL,  -- SHA-256 of the limit and the identity: there is one override of each
  policy_id       sluice_id GENERATED ALWAYS AS (document ->> 'policy_id') STORED,
  plan_id         sluice_id GENERATED ALWAYS AS (document ->> 'plan_id') STORED,
  expires_at      timestamptz,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, target),
  FOREIGN KEY (organization_id, tenant_id) REFERENCES tenants (organization_id, id),
  FOREIGN KEY (tenant_id, policy_id) REFERENCES policies (tenant_id, id),
  FOREIGN KEY (tenant_id, plan_id) REFERENCES plans (tenant_id, id)
);
CREATE INDEX overrides_policy ON overrides (tenant_id, policy_id) WHERE policy_id IS NOT NULL;
CREATE INDEX overrides_plan ON overrides (tenant_id, plan_id) WHERE plan_id IS NOT NULL;
CREATE INDEX overrides_expiry ON overrides (expires_at) WHERE expires_at IS NOT NULL;

-- Admin tokens and agent tokens. organization_id '' is the platform. The secret's hash is a column of its own: a
-- document goes to versions, audit and answers.
CREATE TABLE tokens (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL DEFAULT '' CHECK (tenant_id = ''),
  id              sluice_id PRIMARY KEY,
  version         bigint NOT NULL,
  document        json NOT NULL,
  secret_hash     text NOT NULL,
  -- ids hold neither brackets nor quotes nor commas
  tenant_ids      text[] GENERATED ALWAYS AS
                    (string_to_array(translate(document ->> 'tenant_ids', '[]" ', ''), ',')) STORED,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX tokens_organization ON tokens (organization_id, id);

CREATE TABLE agent_tokens (LIKE tokens INCLUDING ALL);

-- What holds for the whole installation; its one row is 'global'.
CREATE TABLE settings (
  organization_id sluice_id NOT NULL DEFAULT '' CHECK (organization_id = ''),
  tenant_id       sluice_id NOT NULL DEFAULT '' CHECK (tenant_id = ''),
  id              sluice_id PRIMARY KEY CHECK (id = 'global'),
  version         bigint NOT NULL,
  document        json NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now()
);
INSERT INTO settings (id, version, document) VALUES ('global', 1, '{"mode":"enforce"}');

-- Every state an object ever had. A removal is a version too, without a document. An id that one organization gave up
-- may be taken by another, which must neither see nor run into the versions of the first.
CREATE TABLE versions (
  kind            text NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  document        json,
  revision        bigint NOT NULL,
  actor_id        text NOT NULL,
  made_at         timestamptz NOT NULL,
  -- With the organization: an id that was given up in one may begin anew in another.
  PRIMARY KEY (kind, tenant_id, id, version, organization_id)
);

-- What agents follow: which objects a revision changed.
CREATE TABLE changes (
  revision        bigint NOT NULL,
  ordinal         integer NOT NULL,
  kind            text NOT NULL,
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  removed         boolean NOT NULL,
  PRIMARY KEY (revision, ordinal)
);

-- One row, updated last in every transaction that changes anything, so that revisions become visible in order.
CREATE TABLE revision (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  revision bigint NOT NULL,
  chain    bytea NOT NULL,  -- SHA-256(chain before ‖ this revision's changes): names the history
  made_at  timestamptz NOT NULL
);
INSERT INTO revision (revision, chain, made_at)
  VALUES (0, sha256(convert_to('sluice ' || gen_random_uuid()::text, 'UTF8')), now());

-- Who changed what: a hash chain for each organization, '' for what is above them all.
CREATE TABLE audit (
  organization_id sluice_id NOT NULL,
  seq             bigint NOT NULL,
  tenant_id       sluice_id NOT NULL,
  made_at         timestamptz NOT NULL,
  actor_id        text NOT NULL,
  actor_role      text NOT NULL,
  source          text NOT NULL,
  request_id      text NOT NULL,
  action          text NOT NULL,
  kind            text NOT NULL,
  object_id       sluice_id NOT NULL,
  version         bigint NOT NULL,
  before          text,
  after           text,
  revision        bigint NOT NULL,
  hash            bytea NOT NULL,  -- SHA-256(hash of the row before ‖ this row)
  PRIMARY KEY (organization_id, seq)
);
CREATE INDEX audit_object ON audit (kind, tenant_id, object_id, seq);
CREATE INDEX audit_newest ON audit (revision, organization_id, seq);

CREATE TABLE audit_heads (
  organization_id sluice_id PRIMARY KEY,
  seq             bigint NOT NULL,
  hash            bytea NOT NULL
);

-- Answers to calls with an Idempotency-Key.
CREATE TABLE idempotency (
  actor_id    text NOT NULL,
  key         text NOT NULL,
  fingerprint bytea NOT NULL,  -- SHA-256 of the request
  status      integer,         -- NULL only inside the transaction that makes the answer
  headers     text,
  body        text,
  made_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (actor_id, key)
);
CREATE INDEX idempotency_age ON idempotency (made_at);

-- The second wall between tenants. A transaction says its scope with SET LOCAL: sluice.organization ('*' is all),
-- sluice.tenants ('' is all of the organization, else ids with commas between). One that says nothing sees nothing.

DO $$
DECLARE
  name  text;
  org   text := '(SELECT current_setting(''sluice.organization'', true))';
  list  text := '(SELECT current_setting(''sluice.tenants'', true))';
  -- A setting that another transaction of the connection made LOCAL is '' afterwards: that must not be the platform's ''.
  mine  text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
  seen  text := format('%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR tenant_id = ANY (string_to_array(%2$s, '',''))))', org, list, mine);
  -- Of what is about several tenants at once, the trail has rows without a tenant: scopes of tenants write but do not see them.
  trail text := format('%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR tenant_id = '''' OR tenant_id = ANY (string_to_array(%2$s, '',''))))', org, list, mine);
  -- A token without tenants reaches all of its organization, and so is beyond who is limited to some.
  token text := format('%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR (tenant_ids <> ''{}'' AND tenant_ids <@ string_to_array(%2$s, '',''))))', org, list, mine);
BEGIN
  FOREACH name IN ARRAY ARRAY['tenants', 'plans', 'policies', 'keys', 'overrides'] LOOP
    EXECUTE format('CREATE POLICY scope ON %I USING (%s)', name, seen);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['versions', 'changes', 'audit'] LOOP
    EXECUTE format('CREATE POLICY scope_read ON %I FOR SELECT USING (%s)', name, seen);
    EXECUTE format('CREATE POLICY scope_add ON %I FOR INSERT WITH CHECK (%s)', name, trail);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['tokens', 'agent_tokens'] LOOP
    EXECUTE format('CREATE POLICY scope ON %I USING (%s)', name, token);
    -- Before a token is known to be good nobody's scope is known: its own row alone can be seen.
    EXECUTE format('CREATE POLICY presented ON %I FOR SELECT USING (id = (SELECT current_setting(''sluice.presented'', true)))', name);
  END LOOP;
  FOREACH name IN ARRAY ARRAY['organizations', 'audit_heads'] LOOP
    EXECUTE format('CREATE POLICY scope ON %I USING (%s = ''*'' OR %s)', name, org, mine);
  END LOOP;
  EXECUTE format('CREATE POLICY read_all ON settings FOR SELECT USING (true)');
  EXECUTE format('CREATE POLICY platform ON settings FOR UPDATE USING (%s = ''*'')', org);
  -- Who tidies up sees all of them, but not before their time.
  EXECUTE format('CREATE POLICY old ON idempotency USING (%s = ''*'' AND made_at < now() - interval ''24 hours'')', org);
  EXECUTE 'CREATE POLICY own ON idempotency USING (actor_id = (SELECT current_setting(''sluice.actor'', true)))';

  FOREACH name IN ARRAY ARRAY['organizations', 'tenants', 'plans', 'policies', 'keys', 'overrides', 'tokens', 'agent_tokens',
                              'settings', 'versions', 'changes', 'audit', 'audit_heads', 'idempotency'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON organizations, tenants, plans, policies, keys, overrides, tokens, agent_tokens, idempotency TO {{app}};
GRANT SELECT, UPDATE ON settings, revision TO {{app}};
GRANT SELECT, INSERT ON versions, changes, audit TO {{app}};
GRANT SELECT, INSERT, UPDATE ON audit_heads TO {{app}};
GRANT SELECT ON schema_migrations TO {{app}};
