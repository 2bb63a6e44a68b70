// Engines with counters in memory, while allocations fail: each call says so, and the engine goes on.
#include <array>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>

#include "sluice/asio.hpp"
#include "tests/integration/library_memory/library_sweep.hpp"
#include "tests/integration/support/temporary_folder.hpp"

namespace sluice {
namespace {

using test::kAll;
using test::kOne;
using test::ok_or_says_so;
using test::sweep;
using v1::Code;
using v1::Engine;

// Each algorithm, an override and a plan.
const std::string kBundle = bundle_of(
    R"({"name":"window","algorithm":"fixed_window","limit":1000,"window":"1d"},
{"name":"log","algorithm":"sliding_window_log","limit":1000,"window":"1d"},
{"name":"counter","algorithm":"sliding_window_counter","limit":1000,"window":"1d"},
{"name":"bucket","algorithm":"token_bucket","capacity":1000,"refill":"1/1h"},
{"name":"places","algorithm":"concurrency","limit":1000,"lease_ttl":"1h"})",
    "", R"(,"overrides":[{"tenant_id":"shop","id":"more","policy_id":"orders","limit_name":"window",
"identity":{"subject":"someone else with a long name"},"set":{"limit":2000},"expires_at":"2100-01-01T00:00:00Z"}])");

constexpr std::array kTags{v1::Named{"one tag with a long name", "and a value that is longer"}, v1::Named{"b", "c"}};
const v1::Request kOrders{.resource = "GET:/orders",
                          .subject = "user:42 of a name that is long",
                          .tags = kTags,
                          .explain = true,
                          .headers = true};

struct Asked {
  std::unique_ptr<EngineRig> rig;
  v1::Decision decision;
  std::array<v1::Decision, 3> decisions;
  v1::Status status;
  std::int64_t expires_us = 0;
  int answers = 0;
  bool threw = false;
  std::unique_ptr<boost::asio::io_context> context = std::make_unique<boost::asio::io_context>();
};

// Nothing is warm, so everything allocates.
Asked fresh() {
  Asked asked;
  asked.rig = std::make_unique<EngineRig>(kBundle, v1::Options{.metrics = true});
  return asked;
}
Asked with_lease() {
  Asked asked = fresh();
  asked.decision = asked.rig->check(kOrders);
  REQUIRE_FALSE(asked.decision.lease_id.empty());
  return asked;
}

// What one check takes, and no more than `before` were charged.
void works_afterwards(EngineRig& rig, std::int64_t before) {
  const v1::Decision& decision = rig.check(kOrders);
  CHECK(decision.status.ok());
  CHECK(decision.allowed);
  CHECK(decision.remaining <= 999);
  CHECK(decision.remaining >= 999 - before);
  CHECK_FALSE(decision.lease_id.empty());
  CHECK(decision.explanation.starts_with("{"));
  CHECK(decision.headers.find("X-RateLimit-Limit") != std::string::npos);
}

TEST_CASE("an engine that finds no memory is not opened, and says so") {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "policies.yaml").string();
  std::ofstream(path) << "format: sluice/v1\ntenants: [{id: shop}]\npolicies:\n"
                         "  - {tenant_id: shop, id: orders, scope: {resource: 'GET:/orders'}, key_by: [subject],\n"
                         "     limits: [{name: rate, algorithm: fixed_window, limit: 1000, window: 1d}]}\n";
  const v1::Options text{.bundle = kBundle, .concurrency = v1::Concurrency::one};
  const v1::Options file{.bundle_file = path, .tenant = "shop", .metrics = true};
  const v1::Options none{.redis = {.url = "redis://me:secret@localhost:1"}};
  for (const v1::Options& options : {text, file, none}) {
    const std::size_t allocations = sweep([&] { return std::pair(options, Engine::Opened()); },
                                          [](auto& it) { it.second = Engine::open(std::move(it.first)); },
                                          [](auto& it, bool failed) {
                                            CHECK(it.second.status.ok() == (it.second.engine != nullptr));
                                            ok_or_says_so(it.second.status, failed);
                                          });
    CHECK(allocations > 50);
  }
}

TEST_CASE("a check for which allocations fail says so, and the engine goes on") {
  for (const std::size_t more : {kOne, kAll}) {
    int refused = 0;
    sweep(
        fresh, [](Asked& it) { it.rig->engine->check(kOrders, it.decision); },
        [&](Asked& it, bool) {
          refused += test::decided_or_says_so(it.decision) ? 0 : 1;
          works_afterwards(*it.rig, 1);
        },
        more);
    CHECK(refused > 20);
  }
}

TEST_CASE("a check of a warm engine allocates nothing, so it is decided without memory") {
  Asked it = fresh();
  v1::Request plain = kOrders;
  plain.explain = false;
  plain.subject = "other";
  const std::string limits = R"({"name":"window","algorithm":"fixed_window","limit":1000,"window":"1d"})";
  EngineRig rig(bundle_of(limits));
  for (int i = 0; i < 3; ++i) rig.check(plain);
  const test::FailingMemory memory(0, kAll);
  rig.engine->check(plain, rig.decision);
  CHECK_FALSE(memory.failed());
  CHECK(rig.decision.remaining == 996);
}

TEST_CASE("each check of a batch for which allocations fail says so") {
  v1::Request other = kOrders;
  other.subject = "someone else with a long name";
  const v1::Request wrong{.resource = "GET:/orders", .cost = -1};
  const std::array<v1::Request, 3> requests{kOrders, wrong, other};
  int refused = 0;
  sweep(
      fresh, [&](Asked& it) { it.rig->engine->check_batch(requests, it.decisions); },
      [&](Asked& it, bool) {
        refused += test::decided_or_says_so(it.decisions[0]) ? 0 : 1;
        refused += test::decided_or_says_so(it.decisions[2]) ? 0 : 1;
        const Code code = it.decisions[1].status.code;
        CHECK((code == Code::invalid_request || code == Code::out_of_memory));
        works_afterwards(*it.rig, 1);
      });
  CHECK(refused > 40);
}

TEST_CASE("an asynchronous check calls back once, also without memory") {
  for (const std::size_t more : {kOne, kAll}) {
    int refused = 0;
    sweep(
        fresh,
        [](Asked& it) {
          it.rig->engine->check_async(kOrders, [&it](const v1::Decision& decision) {
            ++it.answers;
            it.status.code = decision.status.code;
          });
        },
        [&](Asked& it, bool failed) {
          CHECK(it.answers == 1);
          ok_or_says_so(it.status, failed);
          refused += it.status.ok() ? 0 : 1;
          works_afterwards(*it.rig, 1);
        },
        more);
    CHECK(refused > 20);
  }
}

TEST_CASE("a completion handler is called once, or destroyed where there is no memory to post it") {
  int refused = 0;
  int destroyed = 0;
  sweep(
      fresh,
      [](Asked& it) {
        try {
          v1::async_check(*it.rig->engine, kOrders,
                          boost::asio::bind_executor(it.context->get_executor(), [&it](const v1::Decision& decision) {
                            ++it.answers;
                            it.status.code = decision.status.code;
                          }));
        } catch (const std::bad_alloc&) {
          it.threw = true;
        }
      },
      [&](Asked& it, bool failed) {
        CHECK(it.answers == 0);  // never before the function returns
        it.context->run();       // ends, because nothing has work for it
        CHECK(it.answers <= (it.threw ? 0 : 1));
        CHECK((failed || it.answers == 1));
        ok_or_says_so(it.status, failed);
        refused += it.status.ok() ? 0 : 1;
        destroyed += it.threw || it.answers == 1 ? 0 : 1;
        works_afterwards(*it.rig, 1);
      });
  CHECK(refused > 20);
  CHECK(destroyed == 1);
}

TEST_CASE("a check that waits ends without memory") {
  sweep(
      fresh, [](Asked& it) { it.rig->engine->wait(kOrders, std::chrono::seconds(1), it.decision); },
      [](Asked& it, bool) {
        test::decided_or_says_so(it.decision);
        works_afterwards(*it.rig, 1);
      });
}

TEST_CASE("a request that is refused says why, or that memory was short") {
  v1::Request requests[4] = {kOrders, kOrders, kOrders, {.resource = "GET:/orders"}};
  requests[0].api_key = "slk_01234567890123456789012345678901_nonsense";
  requests[1].tenant = "shopping, which is not the name of a tenant";
  requests[2].plan = "a plan that nobody has ever heard about";
  const Code codes[4] = {Code::unauthenticated, Code::unknown_tenant, Code::unknown_plan, Code::missing_dimension};
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    sweep(
        fresh, [&](Asked& it) { it.rig->engine->check(requests[i], it.decision); },
        [&](Asked& it, bool failed) {
          const Code code = it.decision.status.code;
          CHECK((code == codes[i] || (failed && code == Code::out_of_memory)));
          CHECK_FALSE(it.decision.allowed);
          works_afterwards(*it.rig, 0);
        });
  }
}

TEST_CASE("a lease for which allocations fail can be released and renewed afterwards") {
  sweep(
      with_lease, [](Asked& it) { it.status = it.rig->engine->renew("", it.decision.lease_id, &it.expires_us); },
      [](Asked& it, bool failed) {
        ok_or_says_so(it.status, failed);
        CHECK(it.rig->engine->renew("shop", it.decision.lease_id, &it.expires_us).ok());
        CHECK(it.expires_us == it.rig->now_us + 3'600'000'000);
      });
  sweep(
      with_lease, [](Asked& it) { it.status = it.rig->engine->release("", it.decision.lease_id); },
      [](Asked& it, bool failed) {
        ok_or_says_so(it.status, failed);
        CHECK(it.rig->engine->release("shop", it.decision.lease_id).ok());
        CHECK(it.rig->engine->renew("shop", it.decision.lease_id).code == Code::unknown_lease);
        works_afterwards(*it.rig, 1);
      });
}

TEST_CASE("a Lease is taken whole, or not at all") {
  int not_taken = 0;
  sweep(
      with_lease,
      [](Asked& it) {
        const v1::Lease lease = it.rig->engine->lease(kOrders, it.decision);
        it.answers = lease && lease.id() == it.decision.lease_id ? 1 : 0;
      },
      [&](Asked& it, bool failed) {
        not_taken += it.answers == 1 ? 0 : 1;
        // What the object could not release ends by itself, or the program releases it.
        CHECK(it.rig->engine->release("", it.decision.lease_id).ok());
        CHECK(it.rig->engine->renew("", it.decision.lease_id).code == Code::unknown_lease);
        CHECK((failed || it.answers == 1));
      });
  CHECK(not_taken > 2);
}

TEST_CASE("policies for which there is no memory leave the former ones in force") {
  const std::string other = bundle_of(fixed_window(7), "", R"(,"overrides":[{"tenant_id":"shop","id":"more",
"policy_id":"orders","limit_name":"rate","identity":{"subject":"user:7"},"set":{"limit":70},
"expires_at":"2100-01-01T00:00:00Z"}])");
  int refused = 0;
  sweep(
      fresh, [&](Asked& it) { it.status = it.rig->engine->load(other); },
      [&](Asked& it, bool failed) {
        ok_or_says_so(it.status, failed);
        refused += it.status.ok() ? 0 : 1;
        CHECK(it.rig->engine->revision() == (it.status.ok() ? 2 : 1));
        CHECK(it.rig->check(kOrders).limit == (it.status.ok() ? 7 : 1000));
        CHECK(it.rig->engine->load(other).ok());
        CHECK(it.rig->check({.resource = "GET:/orders", .subject = "user:7"}).limit == 70);
        CHECK(it.rig->check({.resource = "GET:/orders", .subject = "user:8"}).limit == 7);
      });
  CHECK(refused > 100);
}

TEST_CASE("the first check under other policies may fail; the policies stay") {
  sweep(
      [] {
        Asked it = fresh();
        REQUIRE(it.rig->engine->load(bundle_of(fixed_window(7))).ok());
        return it;
      },
      [](Asked& it) { it.rig->engine->check(kOrders, it.decision); },
      [](Asked& it, bool) {
        test::decided_or_says_so(it.decision);
        CHECK(it.rig->check(kOrders).limit == 7);
      });
}

TEST_CASE("metrics are whole, or empty where there is no memory for them") {
  std::string text;
  int empty = 0;
  sweep(
      with_lease, [&](Asked& it) { text = it.rig->engine->metrics(); },
      [&](Asked&, bool) {
        empty += text.empty() ? 1 : 0;
        CHECK((text.empty() || text.find("sluice_decisions_total") != std::string::npos));
      });
  CHECK(empty > 10);
}

TEST_CASE("an engine ends without memory") {
  sweep(with_lease, [](Asked& it) { it.rig->engine.reset(); }, [](Asked&, bool) {});
}

}  // namespace
}  // namespace sluice
