#include "tests/integration/audit/store.hpp"

#include <stdexcept>

#include <fmt/core.h>

#include "server/postgres/migrations.hpp"

namespace sluice::test {

using server::postgres::Transaction;
using server::store::ChangeLog;

namespace {

const server::store::Actor kActor{
    .id = "token-tester", .role = "platform_admin", .source = "192.0.2.1", .request_id = "request-1"};

void found(const std::string& url) {
  Writer writer(url);
  writer.update({Kind::setting, "", "global"}, R"({"mode":"shadow"})");
  const std::vector<std::pair<std::string, std::vector<std::string>>> all = {{"acme", {"shop", "lab"}},
                                                                             {"globex", {"mill"}}};
  for (const auto& [organization, tenants] : all) {
    writer.create({Kind::organization, "", organization}, organization, fmt::format(R"({{"id":"{}"}})", organization));
    for (const std::string& tenant : tenants) {
      writer.create({Kind::tenant, tenant, tenant}, organization,
                    fmt::format(R"({{"id":"{}","organization_id":"{}"}})", tenant, organization));
    }
  }
}

// What every test begins with; made once.
const std::string& founded() {
  static const TestDatabase database;
  static const bool filled = [] {
    const auto report =
        server::postgres::migrate({.owner_url = database.url("sluice_owner"), .app_role = "sluice_app"});
    if (!report) throw std::runtime_error(report.error().text);
    found(database.url());
    return true;
  }();
  (void)filled;
  return database.name();
}

server::store::StoredObject locked(Transaction& tx, const ObjectId& key) {
  auto object = server::store::find(tx, key.kind, key.tenant_id, key.id, server::store::Lock::update);
  if (!object) throw std::runtime_error("no such object: " + key.id);
  return *std::move(object);
}

}  // namespace

Store::Store() : database_(founded()) {}

ObjectId plan_key(std::string_view tenant_id, std::string_view id) {
  return {Kind::plan, std::string(tenant_id), std::string(id)};
}

std::string plan_document(std::string_view id, int limit) {
  return fmt::format(
      R"({{"id":"{}","name":"Größe\t\"A\"\\N","limits":[{{"name":"n","algorithm":"fixed_window","limit":{},"window":"1s"}}]}})",
      id, limit);
}

Writer::Writer(const std::string& url, std::chrono::milliseconds lock_timeout)
    : connection_(server::postgres::connect({.url = url, .lock_timeout = lock_timeout})) {}

server::store::Revision Writer::write(const std::function<void(Transaction&, ChangeLog&)>& change) {
  Transaction tx(*connection_);
  tx.enter(server::postgres::Scope::everything(kActor.id));
  ChangeLog log;
  change(tx, log);
  const server::store::Revision revision = log.record(tx, kActor);
  tx.commit();
  return revision;
}

server::store::Revision Writer::create(const ObjectId& key, const std::string& organization_id,
                                       const std::string& document) {
  return write([&](Transaction& tx, ChangeLog& log) { create_in(tx, log, key, organization_id, document); });
}

server::store::Revision Writer::create_plan(std::string_view tenant_id, std::string_view id, int limit) {
  return create(plan_key(tenant_id, id), tenant_id == "mill" ? "globex" : "acme", plan_document(id, limit));
}

server::store::Revision Writer::update(const ObjectId& key, const std::string& document) {
  return write([&](Transaction& tx, ChangeLog& log) { update_in(tx, log, key, document); });
}

server::store::Revision Writer::remove(const ObjectId& key) {
  return write([&](Transaction& tx, ChangeLog& log) { remove_in(tx, log, key); });
}

void create_in(Transaction& tx, ChangeLog& log, const ObjectId& key, const std::string& organization_id,
               const std::string& document) {
  log.inserted("create", server::store::insert(tx, key, organization_id, document));
}

void update_in(Transaction& tx, ChangeLog& log, const ObjectId& key, const std::string& document) {
  const auto before = locked(tx, key);
  log.updated("update", before, server::store::update(tx, before, document));
}

void remove_in(Transaction& tx, ChangeLog& log, const ObjectId& key) {
  const auto before = locked(tx, key);
  server::store::remove(tx, key.view());
  log.removed("delete", before);
}

}  // namespace sluice::test
