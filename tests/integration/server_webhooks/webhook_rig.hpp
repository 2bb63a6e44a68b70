// Webhooks of the tenants shop, bank and kiosk in a database of their own, and the outbox's functions in transactions
// of their own.
//
//   WebhookRig rig;
//   rig.add({rig.event("shop", "e1")});
//   const auto claimed = rig.claim();
//   CHECK(rig.record(claimed.at(0)) == Recorded::delivered);
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <pqxx/connection>

#include "server/webhooks/outbox.hpp"
#include "server/webhooks/stored_usage.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {

class WebhookRig : public AdminRig {
 public:
  WebhookRig() : connection_(connect()) { found_acme(); }

  std::unique_ptr<pqxx::connection> connect() const { return postgres::connect(database_options()); }

  // `members`: further ones of the document, R"("events":["denials"])".
  void make_webhook(const std::string& tenant, const std::string& id, const std::string& members) const {
    execute(
        fmt::format("INSERT INTO webhooks (organization_id, tenant_id, id, version, document, secret_key, "
                    "secret_salt, created_at) SELECT organization_id, id, '{1}', 1, "
                    "'{{\"tenant_id\":\"{0}\",\"id\":\"{1}\",\"url\":\"https://x/\",{2}}}', 'key', 'salt', now() - "
                    "interval '1 day' FROM tenants WHERE id = '{0}'",
                    tenant, id, members));
  }

  static webhooks::Event event(const std::string& tenant, const std::string& id,
                               const std::string& webhook = "alerts") {
    return {.tenant_id = tenant, .webhook_id = webhook, .id = id, .type = "test", .body = "{}"};
  }

  // Runs `task` with a transaction, and commits it.
  template <class Task>
  auto in_transaction(Task task) {
    postgres::Transaction tx(*connection_);
    tx.enter(postgres::Scope::everything("webhooks"));
    auto result = task(tx);
    tx.commit();
    return result;
  }
  webhooks::Added add(const std::vector<webhooks::Event>& events) {
    return in_transaction([&](postgres::Transaction& tx) { return webhooks::add_events(tx, events); });
  }
  std::vector<webhooks::Claimed> claim() {
    return in_transaction([](postgres::Transaction& tx) { return webhooks::claim(tx, 8, std::chrono::seconds(90)); });
  }
  bool redeliver(const std::string& tenant, const std::string& id) {
    return in_transaction([&](postgres::Transaction& tx) { return webhooks::redeliver(tx, tenant, "alerts", id); });
  }
  // `error` "": delivered.
  webhooks::Recorded record(const webhooks::Claimed& claimed, const std::string& error = "") {
    std::vector<webhooks::Sent> sent{
        {.claimed = claimed, .outcome = {.status = 200, .error = error}, .delay = std::chrono::minutes(1)}};
    return in_transaction(
        [&](postgres::Transaction& tx) { return webhooks::record(tx, sent, std::chrono::hours(48)).front(); });
  }

  // "status shown-attempts leased": of an event.
  std::string row(const std::string& id) const {
    return execute(
        "SELECT status || ' ' || attempts - attempts_before || ' ' || (leased_until IS NOT NULL) FROM "
        "webhook_deliveries WHERE id = '" +
        id + "'");
  }
  void end_leases() const {
    execute("UPDATE webhook_deliveries SET leased_until = now(), next_at = now() WHERE leased_until IS NOT NULL");
  }

 private:
  std::unique_ptr<pqxx::connection> connection_;
};

}  // namespace sluice::server::test
