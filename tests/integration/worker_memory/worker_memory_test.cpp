// A worker whose allocations fail, one after the other: each request gets an answer or its connection is closed, the
// worker's timers go on, and the next request is decided by Redis.
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "tests/integration/worker_memory/callers.hpp"
#include "tests/integration/worker_memory/worker_rig.hpp"

namespace sluice::agent {
namespace {

using namespace std::chrono_literals;
using test::FailingMemory;
using test::RedisServer;

// One allocation fails, or all from one on.
constexpr std::size_t kOne = 0;
constexpr std::size_t kAll = 1'000'000;

constexpr auto kShort = 60ms;     // while there is no memory
constexpr auto kPatience = 3s;    // afterwards
constexpr auto kDrought = 600ms;  // how long the timers have no memory

class Sweep {
 public:
  // Sends a request over a new connection.
  struct Asked {
    std::function<Answer(std::chrono::milliseconds)> answer;
  };
  using Ask = std::function<Asked(RunningWorker&, const std::string& key, const std::string& subject)>;

  // `charges`: what the request takes of a limit.
  Sweep(Ask ask, std::int64_t charges) : ask_(std::move(ask)), charges_(charges) {}

  void run(std::size_t more) {
    for (std::size_t n = 0;; ++n) {
      REQUIRE(n < 5'000);
      CAPTURE(n);
      CAPTURE(more);
      if (!step(n, more)) break;
    }
    MESSAGE(more, ": ", steps_, " allocations, ", answered_, " answered, ", closed_, " closed");
    while (!former_.empty()) retire();
  }

 private:
  // Returns whether an allocation failed.
  bool step(std::size_t n, std::size_t more) {
    auto worker = std::make_unique<RunningWorker>(redis_.unix_url(), policies_);
    REQUIRE(worker->await_redis());
    const std::string subject = "user-" + std::to_string(n) + "-" + std::to_string(more);
    Asked asked;
    Answer answer;
    bool failed = false;
    {
      const FailingMemory memory(n, more, worker->memory());
      asked = ask_(*worker, policies_.key, subject);
      answer = asked.answer(more == kOne ? 2000ms : kShort);
      failed = memory.failed();
    }
    if (answer.end == End::nothing) answer = asked.answer(kPatience);
    CHECK(answer.end != End::nothing);
    if (answer.end == End::answered) ++answered_;
    if (answer.end == End::closed) ++closed_;
    if (!failed) CHECK(answer.end == End::answered);
    steps_ = n;
    works_afterwards(*worker, subject);
    CHECK(worker->in_flight() == 0);
    former_.push_back(std::move(worker));
    if (former_.size() > 16) retire();
    return failed;
  }

  // A check that only reads the counter. Redis decides as soon as it is connected again.
  void works_afterwards(RunningWorker& worker, const std::string& subject) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    Answer answer;
    do {
      HttpCaller next(worker.http_port(), policies_.key);
      next.post("/v1/check", R"({"resource":"counted","subject":")" + subject + R"(","cost":0})");
      answer = next.answer(kPatience);
      REQUIRE(answer.end == End::answered);
    } while (answer.text.find("within_limit") == std::string::npos && std::chrono::steady_clock::now() < until);
    CAPTURE(answer.text);
    CHECK(answer.text.find("within_limit") != std::string::npos);
    CHECK(answer.number("X-RateLimit-Remaining") >= kLimit - charges_);
    GrpcCaller call(worker.grpc_port(), policies_.key);
    call.call("Check", check_message("someone else"));
    const Answer called = call.answer(kPatience);
    CHECK(called.end == End::answered);
    CHECK(called.status == 0);
    CHECK(called.text.find("within_limit") != std::string::npos);
  }

  void retire() {
    CHECK(former_.front()->await_tick());
    former_.pop_front();
  }

  RedisServer redis_;
  const Policies policies_;
  const Ask ask_;
  const std::int64_t charges_;
  std::deque<std::unique_ptr<RunningWorker>> former_;
  std::size_t steps_ = 0;
  int answered_ = 0;
  int closed_ = 0;
};

Sweep::Asked post(RunningWorker& worker, const std::string& key, const std::string& path, const std::string& body) {
  auto caller = std::make_shared<HttpCaller>(worker.http_port(), key);
  caller->post(path, body);
  return {[caller](std::chrono::milliseconds patience) { return caller->answer(patience); }};
}

Sweep::Asked call(RunningWorker& worker, const std::string& key, const std::string& method, const std::string& body) {
  auto caller = std::make_shared<GrpcCaller>(worker.grpc_port(), key);
  caller->call(method, body);
  return {[caller](std::chrono::milliseconds patience) { return caller->answer(patience); }};
}

TEST_CASE("a check over HTTP on a new connection" * doctest::timeout(500)) {
  for (const std::size_t more : {kOne, kAll}) {
    Sweep(
        [](RunningWorker& worker, const std::string& key, const std::string& subject) {
          return post(worker, key, "/v1/check", R"({"resource":"counted","subject":")" + subject + R"("})");
        },
        1)
        .run(more);
  }
}

TEST_CASE("a batch over HTTP on a new connection" * doctest::timeout(500)) {
  for (const std::size_t more : {kOne, kAll}) {
    Sweep(
        [](RunningWorker& worker, const std::string& key, const std::string& subject) {
          const std::string check = R"({"resource":"counted","subject":")" + subject + R"("})";
          return post(worker, key, "/v1/check/batch", R"({"checks":[)" + check + "," + check + "]}");
        },
        2)
        .run(more);
  }
}

TEST_CASE("a check over gRPC on a new connection" * doctest::timeout(500)) {
  for (const std::size_t more : {kOne, kAll}) {
    Sweep([](RunningWorker& worker, const std::string& key,
             const std::string& subject) { return call(worker, key, "Check", check_message(subject)); },
          1)
        .run(more);
  }
}

TEST_CASE("a batch over gRPC on a new connection" * doctest::timeout(500)) {
  for (const std::size_t more : {kOne, kAll}) {
    Sweep([](RunningWorker& worker, const std::string& key,
             const std::string& subject) { return call(worker, key, "CheckBatch", batch_message(subject, 2)); },
          2)
        .run(more);
  }
}

TEST_CASE("a stream of checks over gRPC on a new connection" * doctest::timeout(500)) {
  for (const std::size_t more : {kOne, kAll}) {
    Sweep([](RunningWorker& worker, const std::string& key,
             const std::string& subject) { return call(worker, key, "CheckStream", stream_message(subject)); },
          1)
        .run(more);
  }
}

TEST_CASE("a worker's timers go on although allocations failed in them, and so do checks" * doctest::timeout(500)) {
  const RedisServer redis;
  const Policies policies;
  for (const std::size_t more : {kOne, kAll}) {
    for (std::size_t n = 0;; ++n) {
      CAPTURE(n);
      CAPTURE(more);
      RunningWorker worker(redis.unix_url(), policies);
      REQUIRE(worker.await_redis());
      HttpCaller open(worker.http_port(), policies.key);  // so that the connections' timer runs
      GrpcCaller call(worker.grpc_port(), policies.key);
      bool failed = false;
      {
        const FailingMemory memory(n, more, worker.memory());
        const auto enough = std::chrono::steady_clock::now() + 500ms;  // two turns of the timers
        REQUIRE(wait_until([&] { return memory.failed() || worker.last_turn() > enough; }));
        failed = memory.failed();
        if (failed && more == kAll) std::this_thread::sleep_for(kDrought);
      }
      CHECK(worker.await_tick());
      CHECK(worker.await_tick());
      HttpCaller next(worker.http_port(), policies.key);
      next.post("/v1/check", R"({"resource":"counted","subject":"u","cost":0})");
      CHECK(next.answer(kPatience).end == End::answered);
      if (!failed) break;
    }
  }
}

TEST_CASE("policies for which an allocation fails on the worker are in force" * doctest::timeout(500)) {
  const RedisServer redis;
  const Policies policies;
  const Policies others(kLimit / 2);
  for (const std::size_t more : {kOne, kAll}) {
    for (std::size_t n = 0;; ++n) {
      CAPTURE(n);
      CAPTURE(more);
      std::atomic<bool> used{false};
      RunningWorker worker(redis.unix_url(), policies);
      REQUIRE(worker.await_redis());
      bool failed = false;
      {
        const FailingMemory memory(n, more, worker.memory());
        worker.publish(others.snapshot, [&] { used = true; });
        REQUIRE(wait_until([&] { return memory.failed() || used; }));
        failed = memory.failed();
      }
      HttpCaller next(worker.http_port(), others.key);
      next.post("/v1/check", R"({"resource":"counted","subject":"u","cost":0})");
      const Answer answer = next.answer(kPatience);
      CHECK(answer.end == End::answered);
      CHECK(answer.number("X-RateLimit-Limit") == kLimit / 2);
      if (!failed) break;
    }
  }
}

}  // namespace
}  // namespace sluice::agent
