// A child process opens an engine of its own, and leaves that of its parent alone.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "tests/integration/support/redis_server.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

using test::RedisServer;

// ThreadSanitizer allows no new thread in the child of a process with threads.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr unsigned kThreadsOfChild = 0;
#else
constexpr unsigned kThreadsOfChild = 2;
#endif
#else
constexpr unsigned kThreadsOfChild = 2;
#endif

v1::Options options_for(const std::string& redis_url, unsigned threads) {
  v1::Options options{.bundle = bundle_of(fixed_window(100)), .threads = threads};
  options.redis.url = redis_url;
  options.redis.deadline = std::chrono::seconds(5);
  return options;
}

// What is left after a check of an engine that this process opens; -1 if there is no such engine or no decision.
// Nothing of the test program runs in the child but this.
std::int64_t remaining_in(v1::Options options) {
  auto opened = v1::Engine::open(std::move(options));
  if (!opened) return -1;
  const v1::Decision decision = opened.engine->check(kOrders);
  const bool decided = decision.status.ok() && decision.reason == v1::Reason::within_limit;
  return decided ? decision.remaining : -1;
}

// The exit status of a child that checks once.
int fork_and_check(const std::string& redis_url, std::int64_t expected) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(remaining_in(options_for(redis_url, kThreadsOfChild)) == expected ? 0 : 1);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("children that fork() made share the counters in Redis with their parent, each with an engine of its own") {
  for (const unsigned threads : {0U, 2U}) {
    CAPTURE(threads);
    const RedisServer redis;
    const auto parent = open_engine(options_for(redis.unix_url(), threads));
    CHECK(parent->check(kOrders).remaining == 99);
    CHECK(fork_and_check(redis.unix_url(), 98) == 0);
    CHECK(parent->check(kOrders).remaining == 97);  // its connection is whole
    CHECK(fork_and_check(redis.unix_url(), 96) == 0);
    CHECK(parent->check(kOrders).remaining == 95);
  }
}

TEST_CASE("children that fork() made count for themselves in memory") {
  const auto parent = open_engine(options_for("", 0));
  CHECK(parent->check(kOrders).remaining == 99);
  CHECK(fork_and_check("", 99) == 0);
  CHECK(parent->check(kOrders).remaining == 98);
}

}  // namespace
}  // namespace sluice
