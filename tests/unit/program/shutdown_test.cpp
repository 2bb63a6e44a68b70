#include "common/program/shutdown.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace sluice::program {
namespace {

using namespace std::chrono_literals;

// A loop that two workers work beside, and what becomes of it. Signals are this process' own.
struct Rig {
  explicit Rig(std::chrono::milliseconds timeout) : shutdown(loop, log, timeout) {
    shutdown.await_signal(2, [this] { ++drains; });
  }

  // Runs what there is to do now. True: the loop was stopped.
  bool stopped() {
    loop.poll();
    return loop.stopped();
  }

  boost::asio::io_context loop{1};
  int drains = 0;
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};  // nothing here is one
  Shutdown shutdown;
};

TEST_CASE("A signal drains, and the loop stops when every worker has") {
  for (const int signal : {SIGTERM, SIGINT}) {
    Rig rig(1h);
    CHECK_FALSE(rig.stopped());
    CHECK(rig.drains == 0);
    std::raise(signal);
    CHECK_FALSE(rig.stopped());
    CHECK(rig.drains == 1);
    std::jthread([&rig] { rig.shutdown.drained(); }).join();
    CHECK_FALSE(rig.stopped());
    rig.shutdown.drained();
    CHECK(rig.stopped());
  }
}

TEST_CASE("A second signal does not wait for workers, and does not drain once more") {
  Rig rig(1h);
  std::raise(SIGTERM);
  CHECK_FALSE(rig.stopped());
  std::raise(SIGTERM);
  CHECK(rig.stopped());
  CHECK(rig.drains == 1);
}

TEST_CASE("A drain that takes too long is ended") {
  Rig rig(0ms);
  std::raise(SIGTERM);
  rig.loop.run();  // returns when it is stopped
  CHECK(rig.drains == 1);
}

TEST_CASE("A signal that comes before the loop runs is heard when it does") {
  Rig rig(1h);
  std::raise(SIGINT);
  CHECK(rig.drains == 0);
  rig.stopped();
  CHECK(rig.drains == 1);
}

TEST_CASE("Once signals are ignored, they neither drain nor end the process") {
  {
    Rig rig(1h);
    rig.shutdown.ignore_signals();
    std::raise(SIGTERM);
    std::raise(SIGINT);
    rig.stopped();
    CHECK(rig.drains == 0);
  }
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, SIG_DFL);
}

}  // namespace
}  // namespace sluice::program
