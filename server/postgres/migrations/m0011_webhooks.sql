-- Webhooks of tenants, and the outbox of what is sent to them.

-- The secret that deliveries are signed with is computed: from the salt, and from the key of this name in the servers' file.
CREATE TABLE webhooks (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  version         bigint NOT NULL,
  document        json NOT NULL,
  secret_key      text NOT NULL,
  secret_salt     text NOT NULL,
  old_key         text,         -- of the secret before the last rotation
  old_salt        text,
  old_until       timestamptz,  -- until then, deliveries are signed with the old secret too
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (organization_id, tenant_id) REFERENCES tenants (organization_id, id)
);

-- One event for one webhook. The id is computed from what happened, so the primary key lets an event be made only once.
CREATE TABLE webhook_deliveries (
  organization_id sluice_id NOT NULL,
  tenant_id       sluice_id NOT NULL,
  webhook_id      sluice_id NOT NULL,
  id              sluice_id NOT NULL,
  type            text NOT NULL,
  body            text NOT NULL,  -- as it is sent, byte for byte
  status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'dead')),
  attempts        integer NOT NULL DEFAULT 0,          -- also names the attempt that may record its outcome
  created_at      timestamptz NOT NULL DEFAULT now(),
  tried_since     timestamptz NOT NULL DEFAULT now(),  -- giving up is counted from here
  next_at         timestamptz NOT NULL DEFAULT now(),  -- of a pending one: when it is tried, or its lease ends
  leased_until    timestamptz,                         -- a server is sending it
  last_at         timestamptz,                         -- the last attempt's end, and what came of it
  last_status     integer,
  last_error      text,
  last_answer     text,
  PRIMARY KEY (tenant_id, webhook_id, id),
  FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_dead ON webhook_deliveries (tenant_id) WHERE status = 'dead';
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (tenant_id, created_at);

DO $$
DECLARE
  name text;
  org  text := '(SELECT current_setting(''sluice.organization'', true))';
  list text := '(SELECT current_setting(''sluice.tenants'', true))';
  mine text := format('(%1$s <> '''' AND organization_id = %1$s)', org);
BEGIN
  FOREACH name IN ARRAY ARRAY['webhooks', 'webhook_deliveries'] LOOP
    EXECUTE format('CREATE POLICY scope ON %4$I USING (%1$s = ''*'' OR (%3$s AND (%2$s = '''' OR '
                   'tenant_id = ANY (string_to_array(%2$s, '','')))))', org, list, mine, name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
  END LOOP;
END $$;

GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks, webhook_deliveries TO {{app}};
