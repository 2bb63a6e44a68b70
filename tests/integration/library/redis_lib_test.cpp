// The library with its counters in a real Redis: with threads of its own, and on the threads of the program.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "tests/integration/support/redis_server.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"
#include "tests/unit/libsluice/folder.hpp"

namespace sluice {
namespace {

using namespace std::chrono_literals;
using test::RedisServer;
using v1::Code;
using v1::Engine;

constexpr std::chrono::seconds kDeadline{5};  // this machine may be slow

v1::Options options_for(const std::string& url, const std::string& bundle, unsigned threads) {
  v1::Options options{.bundle = bundle, .threads = threads};
  options.redis.url = url;
  options.redis.deadline = kDeadline;
  return options;
}

std::unique_ptr<Engine> open_on(const RedisServer& redis, const std::string& bundle, unsigned threads) {
  return open_engine(options_for(redis.unix_url(), bundle, threads));
}

TEST_CASE("engines with one Redis share its counters, on threads of their own and on the program's") {
  const RedisServer redis;
  const auto own = open_on(redis, bundle_of(fixed_window(4)), 2);
  const auto none = open_on(redis, bundle_of(fixed_window(4)), 0);
  for (const std::int64_t remaining : {3, 2, 1, 0}) {
    const v1::Decision decision = (remaining % 2 == 0 ? own : none)->check(kOrders);
    CHECK(decision.status.ok());
    CHECK(decision.allowed);
    CHECK(decision.reason == v1::Reason::within_limit);
    CHECK(decision.remaining == remaining);
  }
  CHECK_FALSE(own->check(kOrders).allowed);
  CHECK_FALSE(none->check(kOrders).allowed);
  CHECK(none->check({.subject = "a", .cost = -1}).status.code == Code::invalid_request);
  v1::Request other = kOrders;
  other.tenant = "bank";
  CHECK(own->check(other).status.code == Code::unknown_tenant);
}

TEST_CASE("threads that share an engine get exactly what the limit allows") {
  const RedisServer redis;
  for (const unsigned threads : {0U, 3U}) {
    CAPTURE(threads);
    constexpr int kLimit = 150;
    const std::string subject = "user:" + std::to_string(threads);
    const auto engine = open_on(redis, bundle_of(fixed_window(kLimit)), threads);
    std::atomic<int> allowed = 0;
    std::atomic<int> strange = 0;
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&] {
        v1::Decision decision;
        for (int i = 0; i < 40; ++i) {
          engine->check({.resource = "GET:/orders", .subject = subject}, decision);
          if (decision.allowed) ++allowed;
          const bool judged =
              decision.reason == v1::Reason::within_limit || decision.reason == v1::Reason::limit_exceeded;
          if (!judged || !decision.status.ok()) ++strange;
        }
      });
    }
    callers.clear();
    CHECK(allowed == kLimit);
    CHECK(strange == 0);
  }
}

TEST_CASE("checks of a batch are sent together, and decided in their order") {
  const RedisServer redis;
  for (const unsigned threads : {0U, 1U}) {
    const std::string subject = "user:" + std::to_string(threads);
    const auto engine = open_on(redis, bundle_of(fixed_window(2)), threads);
    const v1::Request one{.resource = "GET:/orders", .subject = subject};
    const std::array<v1::Request, 4> requests{one, {.subject = "a", .cost = -1}, one, one};
    std::array<v1::Decision, 4> decisions;
    engine->check_batch(requests, decisions);
    CHECK(decisions[0].remaining == 1);
    CHECK(decisions[1].status.code == Code::invalid_request);
    CHECK(decisions[2].remaining == 0);
    CHECK_FALSE(decisions[3].allowed);
    engine->check_batch({}, {});
  }
}

TEST_CASE("without threads, an asynchronous check is answered on the thread that runs the loop") {
  const RedisServer redis;
  const auto engine = open_on(redis, bundle_of(fixed_window(3)), 0);
  std::vector<std::int64_t> remaining;
  const auto on_answer = [&](const v1::Decision& decision) { remaining.push_back(decision.remaining); };
  engine->check_async(kOrders, on_answer);
  CHECK(remaining.empty());
  CHECK(until([&] {
    engine->poll();
    return !remaining.empty();
  }));
  engine->check_async(kOrders, [&](const v1::Decision& decision) {
    on_answer(decision);
    on_answer(engine->check(kOrders));  // a callback may ask again, and wait
    engine->stop();
  });
  const auto began = std::chrono::steady_clock::now();
  engine->run();
  CHECK(remaining == std::vector<std::int64_t>{2, 1, 0});
  CHECK(std::chrono::steady_clock::now() - began < kDeadline);  // which nothing had to wait for
}

TEST_CASE("a callback that runs the loop, which runs already, does not wait for it") {
  const RedisServer redis;
  const auto engine = open_on(redis, bundle_of(fixed_window(3)), 0);
  bool called = false;
  engine->check_async(kOrders, [&](const v1::Decision&) {
    engine->run();
    CHECK(engine->poll() == 0);
    called = true;
    engine->stop();
  });
  engine->run();
  CHECK(called);
}

// Whether the kernel says that a thread of this process sleeps.
bool sleeps(pid_t thread) {
  std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.find(") S ") != std::string::npos;
}

TEST_CASE("one stop() ends run() in all threads, and later ones only the next run()") {
  const RedisServer redis;
  const auto engine = open_on(redis, bundle_of(fixed_window(1'000)), 0);
  std::atomic<pid_t> ids[2] = {0, 0};
  std::atomic<int> ended = 0;
  std::vector<std::jthread> threads;
  for (auto& id : ids) {
    threads.emplace_back([&] {
      id = ::gettid();
      engine->run();
      ++ended;
    });
  }
  CHECK(until([&] { return std::ranges::all_of(ids, [](const auto& id) { return id != 0 && sleeps(id); }); }));
  engine->stop();
  CHECK(until([&] { return ended == 2; }));
  if (ended < 2) engine->stop();
  threads.clear();
  engine->stop();
  engine->stop();
  engine->run();
  std::jthread next([&] {
    engine->run();
    ++ended;
  });
  CHECK(engine->check(kOrders).allowed);
  CHECK(ended == 2);
  engine->stop();
}

TEST_CASE("while one thread runs the loop, the checks of others are answered there") {
  const RedisServer redis;
  const auto engine = open_on(redis, bundle_of(fixed_window(1'000)), 0);
  std::jthread runs([&] { engine->run(); });
  std::vector<std::jthread> callers;
  std::atomic<int> allowed = 0;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) allowed += engine->check(kOrders).allowed ? 1 : 0;
    });
  }
  callers.clear();
  CHECK(allowed == 200);
  engine->stop();
  runs.join();
  CHECK(engine->check(kOrders).remaining == 799);
}

TEST_CASE("with threads, callbacks come there, and may ask again in any way") {
  const RedisServer redis;
  const auto engine = open_on(redis, bundle_of(fixed_window(400)), 2);
  std::atomic<int> answered = 0;
  std::atomic<int> nested = 0;
  for (int i = 0; i < 100; ++i) {
    engine->check_async(kOrders, [&](const v1::Decision&) {
      if (engine->check(kOrders).allowed) ++nested;
      engine->check_async(kOrders, [&](const v1::Decision&) { ++answered; });
    });
  }
  const auto began = std::chrono::steady_clock::now();
  CHECK(until([&] { return answered == 100; }));
  CHECK(std::chrono::steady_clock::now() - began < kDeadline);
  CHECK(nested == 100);
  CHECK(engine->check(kOrders).remaining == 99);
}

TEST_CASE("an engine that is closed gives up its asynchronous checks") {
  RedisServer redis;
  for (const unsigned threads : {0U, 2U}) {
    auto engine = open_on(redis, bundle_of(fixed_window(1'000)), threads);
    CHECK(engine->check(kOrders).allowed);
    redis.pause();
    std::atomic<int> stopped = 0;
    std::atomic<int> others = 0;
    for (int i = 0; i < 20; ++i) {
      engine->check_async(kOrders, [&, asked = engine.get()](const v1::Decision& decision) {
        ++(decision.status.code == Code::stopped && !decision.allowed ? stopped : others);
        // Also what is asked now is given up.
        if (stopped == 1)
          asked->check_async(
              kOrders, [&](const v1::Decision& again) { ++(again.status.code == Code::stopped ? stopped : others); });
      });
    }
    engine.reset();
    redis.resume();
    CHECK(stopped == 21);
    CHECK(others == 0);
  }
}

TEST_CASE("leases are in Redis: another engine gives them back") {
  const RedisServer redis;
  const std::string bundle = bundle_of(R"({"name":"places","algorithm":"concurrency","limit":1,"lease_ttl":"1m"})");
  const auto first = open_on(redis, bundle, 0);
  const auto second = open_on(redis, bundle, 1);
  v1::Decision decision = first->check(kOrders);
  CHECK(decision.allowed);
  {
    v1::Lease lease = first->lease(kOrders, decision);
    CHECK(lease.renew().ok());
    std::int64_t expires_us = 0;
    CHECK(second->renew("shop", lease.id(), &expires_us).ok());
    CHECK(expires_us > decision.lease_expires_us);
    CHECK_FALSE(second->check(kOrders).allowed);
    CHECK(first->release("", "nonsense").code == Code::unknown_lease);
  }
  decision = second->check(kOrders);
  CHECK(decision.allowed);
  CHECK(first->release("shop", decision.lease_id).ok());
  CHECK(first->renew("shop", decision.lease_id).code == Code::unknown_lease);
  decision = first->check(kOrders);
  CHECK(decision.allowed);
  std::jthread gives_back([&] {
    std::this_thread::sleep_for(20ms);
    second->release("shop", decision.lease_id);
  });
  v1::Decision waited;
  first->wait(kOrders, 30s, waited);
  CHECK(waited.allowed);
}

TEST_CASE("other policies and their overrides reach checks that begin from then on") {
  const RedisServer redis;
  for (const unsigned threads : {0U, 2U}) {
    const auto engine = open_on(redis, bundle_of(fixed_window(1)), threads);
    CHECK(engine->check(kOrders).limit == 1);
    CHECK(engine
              ->load(bundle_of(fixed_window(2), "",
                               R"(,"overrides":[{"tenant_id":"shop","id":"more","policy_id":"orders",
"limit_name":"rate","identity":{"subject":"user:7"},"set":{"limit":7},"expires_at":"2100-01-01T00:00:00Z"}])"))
              .ok());
    CHECK(engine->check(kOrders).limit == 2);
    // The override is written meanwhile.
    CHECK(until([&] { return engine->check({.resource = "GET:/orders", .subject = "user:7"}).limit == 7; }));
  }
}

TEST_CASE("without Redis the failure mode decides, and Redis decides again when it is back") {
  RedisServer redis;
  const std::string places = bundle_of(R"({"name":"places","algorithm":"concurrency","limit":1,"lease_ttl":"1m"})");
  const std::string lease = open_engine({.bundle = places})->check(kOrders).lease_id;
  for (const unsigned threads : {0U, 1U}) {
    CAPTURE(threads);
    v1::Options options =
        options_for(redis.unix_url(), bundle_of(fixed_window(1'000), R"(,"failure_mode":"fail_open")"), threads);
    options.redis.deadline = 200ms;
    options.metrics = true;
    const auto engine = open_engine(std::move(options));
    CHECK(until([&] { return engine->check(kOrders).reason == v1::Reason::within_limit; }));
    redis.kill();
    CHECK(until([&] { return engine->check(kOrders).reason == v1::Reason::fail_open; }));
    CHECK(engine->check(kOrders).allowed);
    CHECK(engine->release("shop", lease).code == Code::unreachable);
    CHECK(engine->release("shop", lease).message.starts_with("redis: "));
    redis.start_again();
    CHECK(until([&] { return engine->check(kOrders).reason == v1::Reason::within_limit; }));
    CHECK(engine->metrics().find("sluice_redis_errors_total{class=\"unavailable\"}") != std::string::npos);
  }
}

// As Redis does by its setting `timeout`. Nobody runs the loop meanwhile, so the next check finds the dead connection.
TEST_CASE("a connection that Redis has closed while it was idle is replaced without a failed check") {
  RedisServer redis;
  for (const unsigned threads : {0U, 1U}) {
    CAPTURE(threads);
    const v1::Request orders{.resource = "GET:/orders", .subject = threads == 0 ? "ann" : "bob"};
    const auto engine = open_on(redis, bundle_of(fixed_window(1'000)), threads);
    for (const std::int64_t remaining : {999, 998, 997}) {
      const v1::Decision decision = engine->check(orders);
      CHECK(decision.status.ok());
      CHECK(decision.reason == v1::Reason::within_limit);
      CHECK(decision.remaining == remaining);  // each was charged, and only once
      if (remaining == 999) REQUIRE(redis.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}) == "1");
    }
  }
}

TEST_CASE("options of Redis that cannot be used are refused, without the password") {
  const std::string bundle = bundle_of(fixed_window(1));
  const auto refused = [&](v1::Redis redis) {
    const auto opened = Engine::open({.bundle = bundle, .redis = std::move(redis)});
    CHECK_FALSE(opened);
    return opened.status;
  };
  v1::Status status = refused({.url = "http://me:secret@host"});
  CHECK(status.code == Code::invalid_options);
  CHECK(status.message.starts_with("redis.url: "));
  CHECK(status.message.find("secret") == std::string::npos);
  CHECK(refused({.url = "redis://localhost", .tls_ca_file = "/x"}).message ==
        "redis.tls_ca_file: has no use without TLS: write rediss://…, or leave it out");
  CHECK(refused({.url = "redis://localhost", .password_file = "/nothing/here"}).code == Code::unreachable);
  const Folder folder;
  const std::string here = folder.file("");
  CHECK(refused({.url = "redis://localhost", .password_file = here}).message ==
        "redis.password_file: " + here + " cannot be read: Is a directory");
  const std::string junk = folder.write("junk", "not PEM");
  const v1::Redis no_authority{.url = "rediss://localhost", .tls_ca_file = junk};
  CHECK(refused(no_authority).code == Code::unreachable);
  CHECK(refused(no_authority).message.starts_with("redis.tls_ca_file: the file of certificate authorities "));
  const v1::Redis no_identity{.url = "rediss://localhost", .tls_cert_file = junk, .tls_key_file = junk};
  CHECK(refused(no_identity).message.starts_with("redis.tls_cert_file: the client certificate "));
  CHECK(refused({.url = "redis://localhost", .deadline = 0ms}).message ==
        "redis.deadline: must be from 1 ms to 10 s; got 0 ms");
  CHECK(refused({.url = "rediss://localhost", .tls_cert_file = "/dev/null"}).message ==
        "redis.tls_cert_file: a certificate and its key go together: name both or none");
  CHECK(refused({.url = "redis://localhost", .sentinel_login_file = "/dev/null"}).message ==
        "redis.sentinel_login_file: has no use without sentinels: write redis+sentinel://HOST,HOST,HOST/NAME, or leave "
        "it out");
  CHECK(refused({.url = "redis+sentinel://localhost/name",
                 .sentinel_password_file = "/dev/null",
                 .sentinel_login_file = "/dev/null"})
            .message ==
        "redis.sentinel_password_file: is a second password: sentinel_login_file has one, so remove one of them");
  CHECK(refused({.url = "redis://:secret@localhost", .password_file = "/dev/null"}).message ==
        "redis.password_file: is a second password: remove the one in the URL");
}

}  // namespace
}  // namespace sluice
