// What a command pays for waiting its turn before it is sent to Redis: one push() and one pop() of the fair queue.
//
//   bench_queue [--rounds N]      prints JSON
//
// "One" is one tenant; "many" is 1,000 tenants with one API key each, all of which have commands that wait: kWaiting
// commands in all, all the time. "Alone" is 1,000 tenants too, but only one command waits: each tenant and key becomes
// idle at once.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/redis/fair_queue.hpp"
#include "tests/bench/measure.hpp"

namespace sluice::bench {
namespace {

constexpr std::size_t kWaiting = 4000;
constexpr std::size_t kTenants = 1000;
constexpr std::size_t kTimes = 1'000'000;

struct Nothing final : redis::Command {
  void write(redis::CommandWriter&, redis::CallBy) override {}
  void on_reply(const redis::Reply&) override {}
  void on_failure(redis::Failure) override {}
};

// Commands of so many tenants in turn.
class Queue {
 public:
  Queue(std::size_t tenants, std::size_t waiting) : tenants_(tenants), commands_(waiting) {
    for (Nothing& command : commands_) push(command);
  }
  void turn(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      redis::Command* const sent = queue_.pop(now_);
      keep(sent);
      now_ += std::chrono::microseconds(1);
      push(*sent);
    }
  }

 private:
  void push(redis::Command& command) {
    next_ = (next_ + 1) % tenants_;
    // A hash of the tenant and of its key, as the agent has them.
    const std::uint64_t tenant = (next_ + 1) * 0x9e3779b97f4a7c15;
    queue_.push(command, {tenant, ~tenant}, redis::Patience::single, now_, now_ + std::chrono::milliseconds(25));
  }

  const std::size_t tenants_;
  std::size_t next_ = 0;
  redis::FairQueue::TimePoint now_{std::chrono::seconds(1000)};
  std::vector<Nothing> commands_;
  redis::FairQueue queue_;
};

int run(std::size_t rounds) {
  Queue one(1, kWaiting);
  Queue many(kTenants, kWaiting);
  Queue alone(kTenants, 1);
  std::vector<Timed> all;
  all.push_back({"queue", "one", [&](std::size_t times) { one.turn(times); }, kTimes});
  all.push_back({"queue", "many", [&](std::size_t times) { many.turn(times); }, kTimes});
  all.push_back({"queue", "alone", [&](std::size_t times) { alone.turn(times); }, kTimes});
  measure(all, rounds);
  std::string rows;
  for (Timed& timed : all) {
    std::ranges::sort(timed.ns);
    rows +=
        fmt::format(R"({}{{"keys":"{}","ns_min":{:.1f},"ns_median":{:.1f},"allocations":{}}})", rows.empty() ? "" : ",",
                    timed.keys, timed.ns.front(), timed.ns[timed.ns.size() / 2], timed.allocations);
  }
  std::printf("{\"tenants\":%zu,\"rows\":[%s]}\n", kTenants, rows.c_str());
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  std::size_t rounds = 5;
  if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
    std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), rounds);
  } else if (argc != 1) {
    std::fputs("usage: bench_queue [--rounds N]\n", stderr);
    return 2;
  }
  return sluice::bench::run(rounds > 0 ? rounds : 1);
}
