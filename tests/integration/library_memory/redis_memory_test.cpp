// Engines with counters in a real Redis, on the thread of the test, while allocations fail: also for connecting and for
// replies that come later.
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "tests/integration/library_memory/library_sweep.hpp"
#include "tests/integration/support/redis_server.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using test::kAll;
using test::kOne;
using test::RedisServer;
using test::sweep;
using v1::Code;
using v1::Engine;
using v1::Reason;

const std::string kBundle = bundle_of(R"({"name":"window","algorithm":"fixed_window","limit":9000,"window":"1d"},
{"name":"places","algorithm":"concurrency","limit":9000,"lease_ttl":"1h"})");
const v1::Request kOrders{
    .resource = "GET:/orders", .subject = "user:42 of a name that is long", .explain = true, .headers = true};

struct Asked {
  std::unique_ptr<Engine> engine;
  v1::Decision decision;
  std::array<v1::Decision, 2> decisions;
  v1::Status status;
  int answers = 0;
};

// Runs the loop, at most so long: poll() does not wait for Redis.
void run_until_answered(Asked& asked, std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (asked.answers == 0 && std::chrono::steady_clock::now() < until) {
    if (asked.engine->poll() == 0) std::this_thread::yield();
  }
}

class Rig {
 public:
  // Not connected yet.
  Asked fresh() const {
    v1::Options options{.bundle = kBundle};
    options.redis.url = redis_.unix_url();
    options.redis.deadline = 100ms;
    Asked asked;
    asked.engine = open_engine(std::move(options));
    return asked;
  }
  Asked connected() const {
    Asked asked = fresh();
    works_afterwards(asked);
    asked.engine->check(kOrders, asked.decision);  // so that its texts have their memory
    return asked;
  }

  // Redis decides. That may take until a connection is opened, also after one was lost.
  static void works_afterwards(Asked& asked) {
    v1::Decision decision;
    for (int i = 0; i < 1'000; ++i) {
      asked.engine->check(kOrders, decision);
      if (decision.status.ok() && decision.reason == Reason::within_limit) break;
      REQUIRE(decision.reason == Reason::fail_closed);
      std::this_thread::sleep_for(1ms);
    }
    CHECK(decision.reason == Reason::within_limit);
    CHECK_FALSE(decision.lease_id.empty());
    CHECK(decision.explanation.starts_with("{"));
  }

 private:
  RedisServer redis_;
};

TEST_CASE("with Redis: the first check, which also connects, is decided or says that memory was short") {
  const Rig rig;
  for (const std::size_t more : {kOne, kAll}) {
    int refused = 0;
    sweep([&] { return rig.fresh(); }, [](Asked& it) { it.engine->check(kOrders, it.decision); },
          [&](Asked& it, bool) {
            refused += test::decided_or_says_so(it.decision) ? 0 : 1;
            Rig::works_afterwards(it);
          },
          more);
    CHECK(refused > 5);
  }
}

TEST_CASE("with Redis: a later check is decided or says that memory was short") {
  const Rig rig;
  v1::Request other = kOrders;
  other.subject = "someone else with a long name";
  for (const std::size_t more : {kOne, kAll}) {
    sweep([&] { return rig.connected(); }, [&](Asked& it) { it.engine->check(other, it.decision); },
          [&](Asked& it, bool) {
            test::decided_or_says_so(it.decision);
            Rig::works_afterwards(it);
          },
          more);
  }
}

TEST_CASE("with Redis: each check of a batch is decided or says that memory was short") {
  const Rig rig;
  const std::array requests{kOrders, kOrders};
  int refused = 0;
  sweep([&] { return rig.connected(); }, [&](Asked& it) { it.engine->check_batch(requests, it.decisions); },
        [&](Asked& it, bool) {
          for (const v1::Decision& each : it.decisions) refused += test::decided_or_says_so(each) ? 0 : 1;
          Rig::works_afterwards(it);
        });
  CHECK(refused > 5);
}

TEST_CASE("with Redis: an asynchronous check calls back once, and what cannot begin calls back at once") {
  const Rig rig;
  for (const std::size_t more : {kOne, kAll}) {
    int at_once = 0;
    int refused = 0;
    sweep([&] { return rig.connected(); },
          [](Asked& it) {
            it.engine->check_async(kOrders, [&it](const v1::Decision& decision) {
              ++it.answers;
              it.status.code = decision.status.code;
            });
          },
          [&](Asked& it, bool) {
            if (it.answers > 0) {
              ++at_once;
              CHECK(it.status.code == Code::out_of_memory);
            }
            run_until_answered(it, 1s);
            CHECK(it.answers == 1);
            Rig::works_afterwards(it);
          },
          more);
    CHECK(at_once > 0);
    // While the loop runs it. An answer for which there is no memory is an answer, too.
    sweep(
        [&] {
          Asked it = rig.connected();
          return it;
        },
        [](Asked& it) {
          it.engine->check_async(kOrders, [&it](const v1::Decision& decision) {
            ++it.answers;
            it.status.code = decision.status.code;
          });
          run_until_answered(it, 20ms);
        },
        [&](Asked& it, bool) {
          refused += it.status.code == Code::out_of_memory ? 1 : 0;
          run_until_answered(it, 1s);
          CHECK(it.answers == 1);
          Rig::works_afterwards(it);
        },
        more);
    CHECK(refused > 1);
  }
}

TEST_CASE("with Redis: a lease for which allocations fail can be released afterwards") {
  const Rig rig;
  for (const bool renews : {false, true}) {
    sweep([&] { return rig.connected(); },
          [&](Asked& it) {
            it.status =
                renews ? it.engine->renew("", it.decision.lease_id) : it.engine->release("", it.decision.lease_id);
          },
          [&](Asked& it, bool failed) {
            if (!it.status.ok()) {
              CHECK(failed);
              CHECK((it.status.code == Code::out_of_memory || it.status.code == Code::unreachable));
            }
            Rig::works_afterwards(it);
            CHECK(it.engine->release("", it.decision.lease_id).ok());
            CHECK(it.engine->renew("", it.decision.lease_id).code == Code::unknown_lease);
          });
  }
}

TEST_CASE("with Redis: policies that load() took are in force, whatever fails later") {
  const Rig rig;
  const std::string other = bundle_of(fixed_window(7), "", R"(,"overrides":[{"tenant_id":"shop","id":"more",
"policy_id":"orders","limit_name":"rate","identity":{"subject":"user:7"},"set":{"limit":70},
"expires_at":"2100-01-01T00:00:00Z"}])");
  const auto limit_is = [](Asked& it, std::string_view subject, std::int64_t limit) {
    for (int i = 0; i < 1'000; ++i) {
      it.engine->check({.resource = "GET:/orders", .subject = subject, .cost = 0}, it.decision);
      if (it.decision.limit == limit) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  };
  for (const std::size_t more : {kOne, kAll}) {
    sweep([&] { return rig.connected(); }, [&](Asked& it) { it.status = it.engine->load(other); },
          [&](Asked& it, bool failed) {
            test::ok_or_says_so(it.status, failed);
            CHECK(it.engine->revision() == (it.status.ok() ? 2 : 1));
            CHECK(limit_is(it, "user:8", it.status.ok() ? 7 : 9'000));
          },
          more);
    sweep(
        [&] {
          Asked it = rig.connected();
          REQUIRE(it.engine->load(other).ok());
          return it;
        },
        [&](Asked& it) { it.engine->check(kOrders, it.decision); },
        [&](Asked& it, bool) {
          test::decided_or_says_so(it.decision);
          CHECK(limit_is(it, "user:8", 7));
          CHECK(limit_is(it, "user:7", 70));
        },
        more);
  }
}

TEST_CASE("with Redis: an engine ends without memory, also while it is asked") {
  const Rig rig;
  for (const std::size_t more : {kOne, kAll}) {
    int answers = 0;
    sweep(
        [&] {
          Asked it = rig.connected();
          answers = 0;
          it.engine->check_async(kOrders, [&](const v1::Decision&) { ++answers; });
          return it;
        },
        [](Asked& it) { it.engine.reset(); }, [&](Asked&, bool) { CHECK(answers == 1); }, more);
  }
}

}  // namespace
}  // namespace sluice
