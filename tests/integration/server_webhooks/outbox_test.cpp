// Claims, redelivery and bounds of the outbox.
#include "server/webhooks/outbox.hpp"

#include <doctest/doctest.h>

#include <future>

#include <pqxx/pqxx>

#include "tests/integration/server_webhooks/webhook_rig.hpp"

namespace sluice::server::test {
namespace {

using webhooks::Claimed;
using webhooks::Recorded;

struct Outbox : WebhookRig {
  Outbox() {
    make_webhook("shop", "alerts", R"("events":[])");
    make_webhook("bank", "alerts", R"("events":[])");
  }

  // Rows of the tenant shop with ids "PREFIX-1" and so on, made so long ago.
  void fill(const std::string& prefix, std::size_t number, const std::string& status, const std::string& age) const {
    execute(
        fmt::format("INSERT INTO webhook_deliveries (organization_id, tenant_id, webhook_id, id, type, body, status, "
                    "created_at) SELECT 'acme', 'shop', 'alerts', '{}-' || n, 'test', '{{}}', '{}', now() - interval "
                    "'{}' FROM generate_series(1, {}) n",
                    prefix, status, age, number));
  }
  std::string number(const std::string& where) const {
    return execute("SELECT count(*) FROM webhook_deliveries WHERE " + where);
  }
};

// As a server for schema 12 claims the one row, records its failure, and delivers it again.
constexpr const char* kFormerClaim =
    "UPDATE webhook_deliveries SET attempts = attempts + 1, next_at = now() + interval '90 s', leased_until = now() + "
    "interval '90 s' RETURNING attempts";
constexpr const char* kFormerRedeliver =
    "UPDATE webhook_deliveries SET status = 'pending', tried_since = now(), next_at = now(), leased_until = NULL, "
    "attempts = attempts + 1";
std::string former_record(const std::string& attempt) {
  return "UPDATE webhook_deliveries SET leased_until = NULL, status = 'delivered' WHERE attempts = " + attempt +
         " AND status = 'pending' RETURNING status";
}

}  // namespace

TEST_CASE_FIXTURE(Outbox, "an outcome that comes back under an older claim changes nothing") {
  add({event("shop", "e")});
  const Claimed first = claim().at(0);
  REQUIRE(redeliver("shop", "e"));
  const std::string before = execute("SELECT * FROM webhook_deliveries");
  CHECK(record(first) == Recorded::superseded);
  CHECK(record(first, "status 500") == Recorded::superseded);
  CHECK(execute("SELECT * FROM webhook_deliveries") == before);
  end_leases();
  const Claimed second = claim().at(0);
  CHECK(record(first) == Recorded::superseded);
  CHECK(record(second) == Recorded::delivered);
  CHECK(row("e") == "delivered 1 false");
}

TEST_CASE_FIXTURE(Outbox, "a delivery that is asked for again and again has one request under way at most") {
  add({event("shop", "e")});
  REQUIRE(claim().size() == 1);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(redeliver("shop", "e"));
    CHECK(claim().empty());
  }
  add({event("shop", "f"), event("shop", "g")});
  CHECK(claim().size() == 1);  // the tenant's second one
  end_leases();
  CHECK(claim().size() == 2);
}

TEST_CASE_FIXTURE(Outbox, "a delivery that is asked for again counts its attempts from 1") {
  add({event("shop", "e")});
  for (int attempt = 1; attempt <= 4; ++attempt) {
    const Claimed claimed = claim().at(0);
    CHECK(claimed.attempt == attempt);
    CHECK(record(claimed, "status 500") == Recorded::retried);
    execute("UPDATE webhook_deliveries SET next_at = now()");
  }
  REQUIRE(redeliver("shop", "e"));
  CHECK(row("e") == "pending 0 false");
  const Claimed again = claim().at(0);
  CHECK(again.attempt == 1);
  CHECK(again.claim > 4);
  CHECK_FALSE(redeliver("shop", "unknown"));
  CHECK_FALSE(redeliver("bank", "e"));
}

TEST_CASE_FIXTURE(Outbox, "servers of the schema before and of this one respect each other's claims") {
  add({event("shop", "e")});
  const Claimed ours = claim().at(0);
  end_leases();
  const std::string theirs = execute(kFormerClaim);
  CHECK(record(ours) == Recorded::superseded);
  REQUIRE(redeliver("shop", "e"));
  end_leases();
  const Claimed again = claim().at(0);
  CHECK(again.attempt == 1);
  CHECK(execute(former_record(theirs)).empty());
  execute(kFormerRedeliver);
  CHECK(record(again) == Recorded::superseded);
  const std::string last = execute(kFormerClaim);
  CHECK(execute(former_record(last)) == "delivered");
  CHECK(row("e") == "delivered 3 false");  // the former server counts one too many, as it did
}

TEST_CASE_FIXTURE(Outbox, "an event beyond a tenant's bound is refused, and what waits stays") {
  fill("old", webhooks::kMaxStored - 1, "pending", "6 days");
  webhooks::Added added = add({event("shop", "b"), event("shop", "a"), event("bank", "b")});
  CHECK(added.events == 2);
  CHECK(added.refused == 1);
  added = add({event("shop", "a"), event("shop", "old-1"), event("shop", "c", "gone")});
  CHECK(added.events == 0);
  CHECK(added.refused == 0);  // they are there, or have no webhook
  CHECK(number("tenant_id = 'shop'") == std::to_string(webhooks::kMaxStored));
  CHECK(number("id = 'old-1'") == "1");
}

TEST_CASE_FIXTURE(Outbox, "old finished rows make room, delivered ones first, and those that can be made again stay") {
  const std::string young = fmt::format("{} min", webhooks::kMadeAgain.count() - 1);
  fill("young", webhooks::kMaxStored - 3, "delivered", young);
  fill("delivered", 1, "delivered", "3 hours");
  fill("dead", 2, "dead", "5 days");
  CHECK(add({event("shop", "a")}).events == 1);
  CHECK(number("id LIKE 'delivered-%'") == "0");
  CHECK(number("status = 'dead'") == "2");
  const webhooks::Added added = add({event("shop", "b"), event("shop", "c"), event("shop", "d")});
  CHECK(added.events == 2);
  CHECK(added.refused == 1);
  CHECK(number("id LIKE 'young-%'") == std::to_string(webhooks::kMaxStored - 3));
  CHECK(number("status = 'dead'") == "0");
}

TEST_CASE_FIXTURE(Outbox, "outcomes are recorded in the order of tenant, webhook and id") {
  add({event("shop", "a"), event("shop", "b")});
  const std::vector<Claimed> claimed = claim();
  REQUIRE(claimed.size() == 2);
  std::vector<webhooks::Sent> sent;
  for (const char* id : {"b", "a"}) {
    const auto found = std::ranges::find(claimed, id, &Claimed::id);
    sent.push_back({.claimed = *found, .outcome = {}, .delay = {}});
  }
  const auto other = connect();
  postgres::Transaction holder(*other);
  holder.enter(postgres::Scope::everything("webhooks"));
  holder.exec_text("SELECT FROM webhook_deliveries WHERE id = 'a' FOR UPDATE");
  auto recording = std::async(std::launch::async, [&] {
    return in_transaction([&](postgres::Transaction& tx) { return webhooks::record(tx, sent, {}); });
  });
  while (execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "1") {
    std::this_thread::yield();
  }
  holder.exec_text("SELECT FROM webhook_deliveries WHERE id = 'b' FOR UPDATE NOWAIT");  // throws if recording holds it
  holder.commit();
  CHECK(recording.get() == std::vector{Recorded::delivered, Recorded::delivered});
}

TEST_CASE_FIXTURE(Outbox, "rows that another transaction holds are not waited for where rows are removed") {
  fill("old", webhooks::kMaxStored, "delivered", "8 days");
  execute("UPDATE webhook_deliveries SET last_at = created_at");
  const auto other = connect();
  postgres::Transaction holder(*other);
  holder.enter(postgres::Scope::everything("webhooks"));
  holder.exec_text("SELECT FROM webhook_deliveries WHERE id = 'old-1' FOR UPDATE");
  std::vector<webhooks::Event> events;
  for (std::size_t i = 0; i < webhooks::kMaxStored; ++i) events.push_back(event("shop", fmt::format("e{}", i)));
  const webhooks::Added added = add(events);  // the rig's lock_timeout would end a wait
  CHECK(added.events == webhooks::kMaxStored - 1);
  CHECK(added.refused == 1);
  fill("older", 2, "delivered", "8 days");
  CHECK(in_transaction([](postgres::Transaction& tx) { return webhooks::tidy(tx, std::chrono::hours(48)); }));
  CHECK(number("status = 'delivered'") == "1");
}

}  // namespace sluice::server::test
