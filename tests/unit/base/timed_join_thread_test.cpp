#include "common/base/timed_join_thread.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <latch>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST_CASE("waiting for a thread ends at the time limit while it runs, and at once when it has returned") {
  std::latch may_return(1);
  TimedJoinThread thread;
  CHECK(thread.finished_within(0ms));  // not started
  thread.start([&] { may_return.wait(); });
  CHECK_FALSE(thread.finished_within(20ms));
  may_return.count_down();
  CHECK(thread.finished_within(20s));
  thread.join();
  CHECK(thread.finished_within(0ms));
  thread.join();
}

}  // namespace
}  // namespace sluice
