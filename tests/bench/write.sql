-- pgbench: the rows of one admin write in one transaction, by bare SQL: what PostgreSQL itself allows.
\set id random(1, 1000000000)
BEGIN;
SELECT set_config('sluice.organization', '*', true), set_config('sluice.tenants', '', true);
SELECT secret_hash FROM tokens LIMIT 1;
INSERT INTO policies (organization_id, tenant_id, id, version, document, place, unindexed)
  VALUES ('acme', 'shop', 'b' || :id || '-' || :client_id || '-' || nextval('bench_ids'), 1,
          '{"tenant_id":"shop","id":"b","scope":{"endpoint":"/v1/b"},"plan_id":"pro","key_by":["subject"]}',
          decode(md5(:id::text), 'hex'), false);
SELECT seq FROM audit_heads WHERE organization_id = 'acme' FOR UPDATE;
UPDATE revision SET revision = revision + 1, chain = sha256(chain || '\x00'), made_at = clock_timestamp() RETURNING revision;
INSERT INTO versions SELECT 'policy', 'acme', 'shop', 'b' || revision, 1, '{"tenant_id":"shop","id":"b","scope":{"endpoint":"/v1/b"},"plan_id":"pro","key_by":["subject"]}', revision, 'bench', now() FROM revision;
INSERT INTO changes SELECT revision, 1, 'policy', 'acme', 'shop', 'b' || revision, 1, false FROM revision;
INSERT INTO audit SELECT 'acme', 1000000000 + revision, 'shop', now(), 'bench', 'platform_admin', '', '', 'create', 'policy', 'b', 1, NULL, '{"tenant_id":"shop","id":"b","scope":{"endpoint":"/v1/b"},"plan_id":"pro","key_by":["subject"]}', revision, '\x00' FROM revision;
UPDATE audit_heads SET seq = seq + 1 WHERE organization_id = 'acme';
NOTIFY sluice_revision;
COMMIT;
