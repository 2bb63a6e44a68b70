-- Sessions of browsers that signed in with an admin token. A session opens what its token opens, and ends with it.
CREATE TABLE console_sessions (
  organization_id sluice_id NOT NULL,  -- the token's; '' is the platform
  hash            text PRIMARY KEY,    -- SHA-256 of the cookie's secret, in hex
  token_id        sluice_id NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
  created_at      timestamptz NOT NULL,
  expires_at      timestamptz NOT NULL
);
CREATE INDEX console_sessions_token ON console_sessions (token_id, created_at);
CREATE INDEX console_sessions_expiry ON console_sessions (expires_at);

-- Who sees a token sees its sessions. Before a session is known to be good, only its own row can be seen.
CREATE POLICY scope ON console_sessions USING (
  EXISTS (SELECT FROM tokens WHERE tokens.id = token_id AND tokens.organization_id = console_sessions.organization_id));
CREATE POLICY presented ON console_sessions FOR SELECT USING (hash = (SELECT current_setting('sluice.presented', true)));
ALTER TABLE console_sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

GRANT SELECT, INSERT, DELETE ON console_sessions TO {{app}};
