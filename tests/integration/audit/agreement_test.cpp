// Objects, versions, changes and the audit trail tell one story, and whoever changes one of them by hand is found out.
#include "server/audit/agreement.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <pqxx/pqxx>

#include "server/audit/verify.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {

TEST_CASE("objects, versions and changes that were changed by hand disagree with the trail") {
  Store store;
  Writer writer(store.url());
  for (const std::string tenant : {"shop", "mill"}) {
    writer.create_plan(tenant, "a", 1);
    writer.update(plan_key(tenant, "a"), plan_document("a", 2));
    writer.create_plan(tenant, "b", 1);
    writer.remove(plan_key(tenant, "b"));
  }
  // Of a key the trail shows a fingerprint only.
  const std::string key = R"({"id":"k","tenant_id":"shop","key_hash":"sha256:00:11223344556677"})";
  writer.create({Kind::key, "shop", "k"}, "acme", key);
  writer.update({Kind::key, "shop", "k"}, key);
  CHECK(store.tamper("SELECT after FROM audit WHERE object_id = 'k' AND seq = (SELECT max(seq) FROM audit WHERE "
                     "organization_id = 'acme')") ==
        R"({"id":"k","tenant_id":"shop","key_hash":"fingerprint:11223344"})");
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"UPDATE keys SET document = '{\"id\":\"k\"}'", "differs from its last version"},
      {"UPDATE versions SET document = '{\"id\":\"k\"}' WHERE kind = 'key' AND version = 2",
       "differs from its last version"},
      {"UPDATE plans SET document = '{\"id\":\"a\"}' WHERE id = 'a' AND tenant_id = 'shop'",
       "differs from its last version"},
      {"UPDATE plans SET version = 9 WHERE id = 'a' AND tenant_id = 'shop'", "differs from its last version"},
      {"DELETE FROM plans WHERE id = 'a' AND tenant_id = 'shop'", "the object was removed without a version"},
      {"INSERT INTO plans (organization_id, tenant_id, id, version, document) VALUES ('acme', 'lab', 'x', 1, '{}')",
       "is stored as an object, but not in versions"},
      {"UPDATE settings SET document = '{\"mode\":\"off\"}'", "differs from its last version"},
      {"UPDATE versions SET document = '{\"id\":\"a\"}' WHERE id = 'a' AND version = 1 AND tenant_id = 'shop'",
       "differs between versions and audit"},
      {"UPDATE versions SET actor_id = 'x' WHERE id = 'a' AND version = 1", "differs between versions and audit"},
      {"DELETE FROM versions WHERE id = 'a' AND version = 1", "is in audit, but not in versions"},
      {"UPDATE changes SET removed = true WHERE id = 'a' AND version = 1", "differs between versions and changes"},
      {"DELETE FROM changes WHERE id = 'a' AND version = 2", "has missing changes"},
      {"DELETE FROM changes WHERE revision = (SELECT revision FROM revision)", "has missing changes"},
      {"UPDATE revision SET revision = revision - 1", "is later than the newest revision"},
      {"UPDATE changes SET ordinal = 2 WHERE id = 'a' AND version = 2", "has missing changes"},
  };
  const auto connection = server::postgres::connect({.url = store.url("postgres")});
  for (const auto& [sql, expected] : changes) {
    CAPTURE(sql);
    pqxx::work undone(*connection);
    undone.exec(sql);
    std::string all;
    for (const std::string& fault : server::audit::agreement_faults(undone)) all += fault + "\n";
    CAPTURE(all);
    CHECK(all.find(expected) != std::string::npos);
    CHECK_FALSE(server::audit::tables_agree(undone));
  }
  pqxx::work whole(*connection);
  CHECK(server::audit::agreement_faults(whole).empty());
  CHECK(server::audit::tables_agree(whole));
}

TEST_CASE("an id that one organization gave up is another one's to take, with versions of its own") {
  Store store;
  Writer writer(store.url());
  writer.create_plan("lab", "p", 1);
  writer.remove(plan_key("lab", "p"));
  writer.remove({Kind::tenant, "lab", "lab"});
  const auto connection = server::postgres::connect({.url = store.url()});
  {
    server::postgres::Transaction tx(*connection);
    tx.enter({.organization = "globex", .tenants = {}, .actor = "token-globex"});
    server::store::ChangeLog log;
    create_in(tx, log, {Kind::tenant, "lab", "lab"}, "globex", R"({"id":"lab","organization_id":"globex"})");
    create_in(tx, log, {Kind::plan, "lab", "p"}, "globex", plan_document("p", 2));
    CHECK(log.changes()[1].version == 1);
    log.record(tx, {.id = "token-globex", .role = "org_admin", .source = "", .request_id = ""});
    tx.commit();
  }
  CHECK(server::audit::verify(*connection).good());
}

}  // namespace sluice::test
