#include "common/base/ending_thread.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <latch>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a thread that hangs is waited for no longer than that, and for its end where it comes") {
  std::latch told(1);
  EndingThread thread;
  CHECK(thread.ended_within(0ms));  // not started
  thread.start([&] { told.wait(); });
  CHECK_FALSE(thread.ended_within(20ms));
  told.count_down();
  CHECK(thread.ended_within(20s));
  thread.join();
  CHECK(thread.ended_within(0ms));
  thread.join();
}

}  // namespace
}  // namespace sluice
