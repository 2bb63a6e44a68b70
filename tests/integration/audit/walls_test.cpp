// The walls in the database itself: what the application's role may not do, and what a transaction does not see beyond
// its scope, whatever the program asks for.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using server::postgres::Scope;
using server::postgres::Transaction;

// How to add a row to each table, for the organization {0} and the tenant {1}, of the id {2}.
const std::map<std::string, std::string> kInserts = {
    {"organizations", "(organization_id, id, version, document) VALUES ('{0}', '{0}', 1, '{{}}')"},
    {"tenants", "(organization_id, tenant_id, id, version, document) VALUES ('{0}', '{1}', '{1}', 1, '{{}}')"},
    {"plans", "(organization_id, tenant_id, id, version, document) VALUES ('{0}', '{1}', '{2}', 1, '{{}}')"},
    {"policies",
     "(organization_id, tenant_id, id, version, document, place, unindexed) VALUES ('{0}', '{1}', '{2}', 1, '{{}}', "
     "'', "
     "true)"},
    {"keys", "(organization_id, tenant_id, id, version, document) VALUES ('{0}', '{1}', '{2}', 1, '{{}}')"},
    {"overrides",
     "(organization_id, tenant_id, id, version, document, target) VALUES ('{0}', '{1}', '{2}', 1, '{{}}', '{2}')"},
    {"tokens",
     "(organization_id, id, version, document, secret_hash) VALUES ('{0}', '{2}', 1, '{{\"tenant_ids\": [\"{1}\"]}}', "
     "'x')"},
    {"agent_tokens",
     "(organization_id, id, version, document, secret_hash) VALUES ('{0}', '{2}', 1, '{{\"tenant_ids\": [\"{1}\"]}}', "
     "'x')"},
    {"console_sessions",
     "(organization_id, hash, token_id, created_at, expires_at) VALUES ('{0}', '{2}', 'row-{0}', now(), now())"},
    {"group_mappings",
     "(organization_id, id, version, document) VALUES ('{0}', '{2}', 1, '{{\"group\": \"{2}\", \"tenant_ids\": "
     "[\"{1}\"]}}')"},
    {"bindings",
     "(organization_id, id, version, document) VALUES ('{0}', '{2}', 1, '{{\"namespace\": \"{2}\", "
     "\"service_account\": \"*\", \"tenant_ids\": [\"{1}\"]}}')"},
    {"versions",
     "(kind, organization_id, tenant_id, id, version, revision, actor_id, made_at) VALUES ('plan', '{0}', '{1}', "
     "'{2}', 1, "
     "1, 'x', now())"},
    {"changes",
     "(revision, ordinal, kind, organization_id, tenant_id, id, version, removed) VALUES (1, hashtext('{2}'), 'plan', "
     "'{0}', "
     "'{1}', '{2}', 1, true)"},
    {"audit",
     "(organization_id, seq, tenant_id, made_at, actor_id, actor_role, source, request_id, action, kind, object_id, "
     "version, "
     "revision, hash) VALUES ('{0}', hashtext('{2}'), '{1}', now(), '', '', '', '', '', 'plan', '{2}', 1, 1, '')"},
    {"audit_heads", "(organization_id, seq, hash) VALUES ('{0}', 1, '')"},
    {"outbox",
     "(organization_id, tenant_id, policy_id, plan_id, identity, state_key, reset) VALUES ('{0}', '{1}', '{2}', '', "
     "'{{}}', 'x', false)"},
    {"idempotency", "(actor_id, key, fingerprint) VALUES ('token-{1}', '{2}', '')"},
    {"agents",
     "(scope, agent_id, organization_id, tenant_ids, token_id, heard_at) VALUES ('{0}/{1}', '{2}', '{0}', "
     "ARRAY['{1}'], 'token-{1}', now())"},
    {"quotas", "(organization_id, tenant_id, id, version, document) VALUES ('{0}', '{1}', '{2}', 1, '{{}}')"},
    {"organization_use", "(organization_id, plans, policies, keys, bytes) VALUES ('{0}', 1, 0, 0, 2)"},
    {"quota_use", "(organization_id, tenant_id, plans, policies, keys, bytes) VALUES ('{0}', '{1}', 1, 0, 0, 2)"},
    {"usage",
     "(minute, organization_id, tenant_id, policy_id, outcome, count) VALUES (now(), '{0}', '{1}', '{2}', 'allowed', "
     "1)"},
    {"usage_subjects",
     "(hour, organization_id, tenant_id, policy_id, subject, count) VALUES (now(), '{0}', '{1}', '{2}', 'user', 1)"},
    {"usage_utilization",
     "(minute, organization_id, tenant_id, policy_id, decisions, near_limit, used) VALUES (now(), '{0}', '{1}', '{2}', "
     "1, 1, 1)"},
    {"usage_unmatched",
     "(hour, organization_id, tenant_id, resource, count) VALUES (now(), '{0}', '{1}', 'GET:/{2}', 1)"},
    {"webhooks",
     "(organization_id, tenant_id, id, version, document, secret_key, secret_salt) VALUES ('{0}', '{1}', '{2}', 1, "
     "'{{}}', '', '')"},
    {"webhook_deliveries",
     "(organization_id, tenant_id, webhook_id, id, type, body) VALUES ('{0}', '{1}', '{2}', 'e', 'test', '{{}}')"},
    {"usage_quotas",
     "(organization_id, tenant_id, policy_id, plan_id, limit_name, counter, percent, quota, period_from, period_to, "
     "subject, used) VALUES ('{0}', '{1}', '{2}', '', 'day', 'c', 80, 10, now(), now(), '', 8)"},
    {"whatif_questions",
     "(organization_id, tenant_id, id, policy_id, policy, from_us, to_us, expires_at) VALUES ('{0}', '{1}', '{2}', "
     "'p', "
     "'{{}}', 0, 1, now())"},
    {"whatif_answers",
     "(organization_id, tenant_id, question_id, scope, agent_id, answer) VALUES ('{0}', '{1}', '{2}', '{0}', 'a', "
     "'{{}}')"},
};

// Nobody's in particular: what they hold is no tenant's. (Of agents' reports only the whole scope sees how far they are
// counted.)
const std::set<std::string> kOfAll = {"settings",     "revision",          "revisions",     "schema_migrations",
                                      "report_marks", "forgotten_changes", "webhook_looks", "used_sign_ins"};

// Of these, those that only the whole scope sees.
const std::set<std::string> kWalled = {"settings", "report_marks", "webhook_looks", "used_sign_ins"};

// Triggers add rows to them for the rows of other tables.
const std::set<std::string> kCounted = {"organization_use", "quota_use"};

// Rows of other tables refer to them.
const std::set<std::string> kFirst = {"organizations", "tenants", "tokens", "webhooks", "whatif_questions"};

std::string insert(const std::string& table, const std::string& organization, const std::string& tenant,
                   const std::string& id) {
  return "INSERT INTO " + table + " " + fmt::format(fmt::runtime(kInserts.at(table)), organization, tenant, id);
}

std::vector<std::string> tables(const Store& store) {
  std::vector<std::string> names;
  std::istringstream lines(
      store.tamper("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND "
                   "relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1"));
  for (std::string name; std::getline(lines, name);) names.push_back(name);
  return names;
}

// One row of each table for each of two tenants of two organizations.
void fill(const Store& store) {
  store.tamper(
      "INSERT INTO organizations (organization_id, id, version, document) VALUES ('a', 'a', 1, '{}'), ('b', 'b', "
      "1, '{}')");
  for (const std::string name : {"a", "b"}) {
    store.tamper(insert("tenants", name, "tenant-" + name, ""));
    for (const std::string table : {"tokens", "webhooks", "whatif_questions"}) {
      store.tamper(insert(table, name, "tenant-" + name, "row-" + name));
    }
    for (const auto& [table, columns] : kInserts) {
      if (!kFirst.contains(table) && !kCounted.contains(table))
        store.tamper(insert(table, name, "tenant-" + name, "row-" + name));
    }
    for (const std::string& table : kCounted) {
      store.tamper("DELETE FROM " + table + " WHERE organization_id = '" + name + "'");
      store.tamper(insert(table, name, "tenant-" + name, ""));
    }
  }
}

constexpr const char* kPrivilege = "not allowed";  // by grants or by row-level security

struct App {
  explicit App(const Store& store) : connection(server::postgres::connect({.url = store.url()})) {}

  std::string refusal(const std::string& sql, const Scope* scope = nullptr) const {
    Transaction tx(*connection);
    if (scope != nullptr) tx.enter(*scope);
    try {
      tx.exec_text(sql);
      return "allowed";
    } catch (const pqxx::insufficient_privilege&) {  // libpqxx 6.4 keeps its SQLSTATE to itself
      return kPrivilege;
    } catch (const pqxx::sql_error& error) {
      return error.sqlstate();
    }
  }
  std::int64_t count(const std::string& table, const Scope* scope = nullptr, const std::string& where = "true") const {
    Transaction tx(*connection);
    if (scope != nullptr) tx.enter(*scope);
    return tx.exec_text("SELECT count(*) FROM " + table + " WHERE " + where)[0][0].as<std::int64_t>();
  }

  std::unique_ptr<pqxx::connection> connection;
};

}  // namespace

TEST_CASE("every table is behind a wall, also for its owner, or known to be everybody's") {
  Store store;
  for (const std::string& table : tables(store)) {
    CAPTURE(table);
    CHECK((kInserts.contains(table) || kOfAll.contains(table)));
    const std::string walls = store.tamper(
        fmt::format("SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = '{}'::regclass", table));
    CHECK(walls == (kInserts.contains(table) || kWalled.contains(table) ? "t" : "f"));
  }
}

TEST_CASE("the application can neither change nor remove what is in the trail, the versions and the changes") {
  Store store;
  App app(store);
  const Scope all = Scope::everything("token-a");
  for (const std::string table : {"audit", "versions", "changes"}) {
    CAPTURE(table);
    CHECK(app.count(table, &all) > 0);
    CHECK(app.refusal("UPDATE " + table + " SET revision = 1", &all) == kPrivilege);
    CHECK(app.refusal("DELETE FROM " + table, &all) == kPrivilege);
    CHECK(app.refusal("TRUNCATE " + table, &all) == kPrivilege);
    CHECK(app.refusal("DROP TABLE " + table, &all) == kPrivilege);
    CHECK(app.refusal("ALTER TABLE " + table + " DISABLE ROW LEVEL SECURITY", &all) == kPrivilege);
    CHECK(app.refusal("CREATE RULE r AS ON INSERT TO " + table + " DO INSTEAD NOTHING", &all) == kPrivilege);
  }
  CHECK(app.refusal("DELETE FROM audit_heads", &all) == kPrivilege);
  for (const std::string table : {"settings", "revision"}) {
    CAPTURE(table);
    CHECK(app.refusal("DELETE FROM " + table, &all) == kPrivilege);
    CHECK(app.refusal("TRUNCATE " + table, &all) == kPrivilege);
  }
  CHECK(app.refusal("INSERT INTO revision SELECT false, 1, '', now()", &all) == kPrivilege);
  CHECK(app.refusal("UPDATE schema_migrations SET checksum = ''", &all) == kPrivilege);
  CHECK(app.refusal("UPDATE forgotten_changes SET revision = 9", &all) == kPrivilege);
  CHECK(app.refusal("CREATE TABLE mine ()", &all) == kPrivilege);
}

TEST_CASE("a transaction without a scope sees no row of any table, and can add none") {
  Store store;
  fill(store);
  App app(store);
  for (const auto& [table, columns] : kInserts) {
    CAPTURE(table);
    CHECK(std::stoll(store.tamper("SELECT count(*) FROM " + table)) >= 2);
    CHECK(app.count(table) == 0);
    CHECK(app.refusal(insert(table, "a", "tenant-a", "new")) == kPrivilege);
    CHECK(app.refusal(insert(table, "", "", "new")) == kPrivilege);
  }
  CHECK(app.refusal("UPDATE settings SET version = 1 RETURNING 1") == "allowed");  // but there is no row to change
  const Scope nobody{.organization = "", .tenants = {}, .actor = ""};
  CHECK(app.count("plans", &nobody) == 0);
  CHECK(app.count("idempotency", &nobody) == 0);
}

TEST_CASE("a transaction of one tenant sees and changes nothing of another organization's") {
  Store store;
  fill(store);
  App app(store);
  const Scope mine{.organization = "a", .tenants = {"tenant-a"}, .actor = "token-tenant-a"};
  for (const auto& [table, columns] : kInserts) {
    CAPTURE(table);
    const bool by_actor = table == "idempotency";
    const std::string theirs = by_actor ? "actor_id = 'token-tenant-b'" : "organization_id = 'b'";
    const std::string ours = by_actor ? "actor_id = 'token-tenant-a'" : "organization_id = 'a'";
    CHECK(app.count(table, &mine, ours) == 1);
    CHECK(app.count(table, &mine) == 1);
    CHECK(app.refusal(insert(table, "b", "tenant-b", "new"), &mine) == kPrivilege);
    CHECK(store.tamper("SELECT count(*) FROM " + table + " WHERE " + theirs) == "1");
  }
  Transaction tx(*app.connection);
  tx.enter(mine);
  for (const std::string table : {"plans", "policies", "keys", "overrides", "tokens", "agent_tokens", "tenants"}) {
    CAPTURE(table);
    CHECK(tx.exec_text("UPDATE " + table + " SET version = 7 WHERE organization_id = 'b'").affected_rows() == 0);
    CHECK(tx.exec_text("DELETE FROM " + table + " WHERE organization_id = 'b'").affected_rows() == 0);
    CHECK(tx.exec_text("UPDATE " + table + " SET version = 7").affected_rows() == 1);
  }
  for (const std::string table : {"settings", "bindings"}) {  // the platform writes these
    CAPTURE(table);
    CHECK(tx.exec_text("UPDATE " + table + " SET version = 7").affected_rows() == 0);
  }
}

TEST_CASE("a transaction of one tenant sees nothing of its organization's other tenants") {
  Store store;  // acme has shop and lab
  Writer writer(store.url());
  writer.create_plan("shop", "p", 1);
  writer.create_plan("lab", "p", 1);
  store.tamper(insert("tokens", "acme", "lab", "token-lab"));
  App app(store);
  const Scope shop{.organization = "acme", .tenants = {"shop"}, .actor = "token-shop"};
  const Scope both{.organization = "acme", .tenants = {"shop", "lab"}, .actor = "token-both"};
  const Scope acme{.organization = "acme", .tenants = {}, .actor = "token-acme"};
  for (const std::string table : {"tenants", "plans", "versions", "changes", "audit"}) {
    CAPTURE(table);
    CHECK(app.count(table, &shop, "tenant_id = 'shop'") >= 1);
    CHECK(app.count(table, &shop, "tenant_id <> 'shop'") == 0);
    CHECK(app.count(table, &both, "tenant_id = 'lab'") >= 1);
    CHECK(app.count(table, &acme, "tenant_id = 'lab'") >= 1);
    CHECK(app.count(table, &acme, "organization_id <> 'acme'") == 0);
  }
  CHECK(app.count("tokens", &shop) == 0);
  CHECK(app.count("tokens", &both) == 1);
  CHECK(app.refusal(insert("plans", "acme", "lab", "new"), &shop) == kPrivilege);
  CHECK(app.refusal(insert("plans", "acme", "shop", "new"), &shop) == "allowed");
  // A row cannot be moved out of the scope either.
  CHECK(app.refusal("UPDATE plans SET tenant_id = 'lab', id = 'q'", &shop) == kPrivilege);
}

TEST_CASE("a presented token is seen alone, and by reading only") {
  Store store;
  fill(store);
  App app(store);
  Transaction tx(*app.connection);
  tx.present("row-a");
  CHECK(tx.exec_text("SELECT id FROM tokens").size() == 1);
  CHECK(tx.exec_text("UPDATE tokens SET secret_hash = 'y'").affected_rows() == 0);
  CHECK(tx.exec_text("DELETE FROM tokens").affected_rows() == 0);
  CHECK(tx.exec_text("SELECT id FROM plans").empty());
  tx.enter({.organization = "b", .tenants = {}, .actor = "row-b"});
  CHECK(tx.exec_text("SELECT id FROM tokens WHERE id = 'row-a'").empty());
}

TEST_CASE("a scope ends with its transaction, so that the connection's next user has none") {
  Store store;
  App app(store);
  const Scope all = Scope::everything("token-a");
  {
    Transaction tx(*app.connection);
    tx.enter(all);
    tx.commit();
  }
  for (const std::string table : {"tenants", "tokens", "audit", "audit_heads", "versions", "changes"}) {
    CAPTURE(table);
    CHECK(app.count(table, &all) >= (table == "tokens" ? 0 : 3));
    CHECK(app.count(table) == 0);  // nor what is the platform's, whose organization is ''
  }
}

TEST_CASE("who tidies up sees stored answers that are old, and no other; nobody else sees them") {
  Store store;
  fill(store);
  store.tamper("UPDATE idempotency SET made_at = now() - interval '25 hours' WHERE actor_id = 'token-tenant-a'");
  App app(store);
  const Scope other{.organization = "b", .tenants = {}, .actor = "token-tenant-b"};
  const Scope all = Scope::everything("tidy");
  CHECK(app.count("idempotency") == 0);
  CHECK(app.count("idempotency", &other) == 1);
  CHECK(app.count("idempotency", &all) == 1);
  CHECK(app.count("idempotency", &all, "actor_id = 'token-tenant-a'") == 1);
}

}  // namespace sluice::test
