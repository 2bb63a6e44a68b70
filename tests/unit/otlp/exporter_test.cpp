// The end of an exporter whose collector's name is being looked up. The test has a getaddrinfo of its own, which does
// not answer before it is told to.
#include "common/otlp/exporter.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include <doctest/doctest.h>
#include <netdb.h>
#include <unistd.h>

#include "common/telemetry/log.hpp"

namespace sluice::otlp::test {
namespace {

using namespace std::chrono_literals;

struct Lookup {
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  bool may_end = false;
};
// Threads use it when the test is over, so it is never destroyed.
Lookup& lookup() {
  static auto* const made = new Lookup;
  return *made;
}

TEST_CASE("a name that is being looked up does not hold the end") {
  telemetry::LineWriter lines(STDERR_FILENO);
  telemetry::Log log(lines, telemetry::LogLevel::error, telemetry::LogFormat::json);
  Options options{.schedule_delay = 1ms};
  options.collector.host = "collector.invalid";
  options.collector.port = 4318;
  {
    Exporter exporter(options, log);
    exporter.start();
    exporter.tracer().start_root("work").end();
    std::unique_lock lock(lookup().mutex);
    REQUIRE(lookup().changed.wait_for(lock, 20s, [] { return lookup().begun; }));
    lock.unlock();
    exporter.stop(1ms);
  }
  const std::lock_guard lock(lookup().mutex);
  CHECK_FALSE(lookup().may_end);
  lookup().may_end = true;
  lookup().changed.notify_all();
}

}  // namespace
}  // namespace sluice::otlp::test

extern "C" int getaddrinfo(const char*, const char*, const addrinfo*, addrinfo**) {
  auto& lookup = sluice::otlp::test::lookup();
  std::unique_lock lock(lookup.mutex);
  lookup.begun = true;
  lookup.changed.notify_all();
  // Without the exporter's patience the test would wait here, and fail.
  if (!lookup.changed.wait_for(lock, std::chrono::seconds(20), [&] { return lookup.may_end; })) lookup.may_end = true;
  return EAI_FAIL;
}
