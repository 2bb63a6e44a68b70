// Which arguments the rulebooks of one call of check_many share.
#include "common/limiter/shared_arguments.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <utility>
#include <vector>

#include "tests/unit/limiter/limits.hpp"

using namespace sluice;
using namespace sluice::test;
using namespace std::chrono_literals;
using limiter::Call;
using limiter::Program;

namespace {

using Own = std::pair<int, int>;  // how many arguments a rulebook has here, and the number of the one it shares with

Program program_of(std::vector<Limit> limits) { return limiter::compile(limits, {}); }

Call plain_call(const Program& program, std::uint32_t cost) {
  Call call = call_of(program, cost);
  call.explain = false;
  return call;
}

std::vector<Own> own_of(const std::vector<Call>& calls, std::size_t enforced = 0) {
  std::vector<limiter::CheckPart> parts;
  for (const Call& call : calls) parts.push_back({&call, {}});
  std::vector<Own> found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const limiter::OwnArguments own = limiter::own_arguments(parts, enforced, i);
    found.emplace_back(own.count, own.shared_with);
  }
  return found;
}

const Program kTen = program_of({window("w", Algorithm::fixed_window, 10, 1h)});
const Program kTenAgain = program_of({window("w", Algorithm::fixed_window, 10, 1h)});
const Program kTwenty = program_of({window("w", Algorithm::fixed_window, 20, 1h)});
const Program kOfDay = program_of({window("w", Algorithm::fixed_window, 10, 24h)});

}  // namespace

TEST_CASE("rulebooks with equal limits and costs share all arguments, whichever program they have") {
  CHECK(own_of({plain_call(kTen, 1), plain_call(kTen, 1), plain_call(kTenAgain, 1)}) ==
        std::vector<Own>{{5, 0}, {0, 1}, {0, 2}});
}

TEST_CASE("a rulebook with another cost or number brings its parameters only") {
  CHECK(own_of({plain_call(kTen, 1), plain_call(kTen, 2), plain_call(kTwenty, 1)}) ==
        std::vector<Own>{{5, 0}, {1, 1}, {1, 1}});
}

TEST_CASE("a rulebook with other counters brings all arguments") {
  CHECK(own_of({plain_call(kTen, 1), plain_call(kOfDay, 1)}) == std::vector<Own>{{5, 0}, {5, 0}});
}

TEST_CASE("rulebooks share with an earlier one that is not their neighbour") {
  CHECK(own_of({plain_call(kTen, 1), plain_call(kOfDay, 1), plain_call(kTen, 1), plain_call(kOfDay, 2)}) ==
        std::vector<Own>{{5, 0}, {5, 0}, {0, 1}, {1, 2}});
}

TEST_CASE("only the eight rulebooks before one are compared with it") {
  std::vector<Program> programs;
  for (int i = 0; i < 8; ++i)
    programs.push_back(program_of({window("w", Algorithm::fixed_window, 10, 1min * (i + 1))}));
  std::vector<Call> calls{plain_call(kOfDay, 1)};
  for (std::size_t i = 0; i < 7; ++i) calls.push_back(plain_call(programs[i], 1));
  calls.push_back(plain_call(kOfDay, 1));
  CHECK(own_of(calls).back() == Own{0, 1});
  calls.back() = plain_call(programs[7], 1);
  calls.push_back(plain_call(kOfDay, 1));
  CHECK(own_of(calls).back() == Own{5, 0});
}

TEST_CASE("where the limits of only one of two rulebooks are reported, their parameters differ") {
  std::vector<Call> calls{plain_call(kTen, 1), plain_call(kTen, 1), plain_call(kTen, 1)};
  CHECK(own_of(calls, 1) == std::vector<Own>{{5, 0}, {0, 1}, {0, 2}});
  CHECK(own_of(calls, 2) == std::vector<Own>{{5, 0}, {0, 1}, {1, 1}});  // two are enforced together
  CHECK(own_of(calls, 3) == std::vector<Own>{{5, 0}, {0, 1}, {0, 2}});
  calls[1].explain = true;
  CHECK(own_of(calls) == std::vector<Own>{{5, 0}, {1, 1}, {0, 1}});
}

TEST_CASE("a quota's parameters are its own, because they have its period") {
  const Program program = program_of({quota("q", 5, Period::day)});
  CHECK(own_of({plain_call(program, 1), plain_call(program, 1)}) == std::vector<Own>{{5, 0}, {1, 1}});
}

TEST_CASE("a call with leases shares nothing, because it has a draw") {
  const Program program = program_of({leases("pool", 5, 10s)});
  CHECK(own_of({plain_call(program, 1), plain_call(program, 1)}) == std::vector<Own>{{6, 0}, {6, 0}});
}

TEST_CASE("all limits of a plan have to be equal, and all of its costs") {
  const Limit a = bucket("a", 5, {1, 1'000'000}), b = bucket("b", 9, {1, 1'000'000}),
              c = bucket("c", 9, {1, 1'000'000});
  const Program ab = program_of({a, b}), ac = program_of({a, c});
  std::vector<Call> calls{plain_call(ab, 1), plain_call(ab, 1), plain_call(ac, 1)};
  calls[1].costs[1] = 2;
  CHECK(own_of(calls) == std::vector<Own>{{5, 0}, {1, 1}, {5, 0}});
  calls[1].costs[1] = 1;
  calls[1].costs[2] = 7;  // the plan has no third limit
  CHECK(own_of(calls) == std::vector<Own>{{5, 0}, {0, 1}, {5, 0}});
}

TEST_CASE("limits that a check brings are its own") {
  const std::int64_t brought[] = {7};
  const Program changed = limiter::with_limits(kTen, brought);
  CHECK(own_of({plain_call(kTen, 1), plain_call(changed, 1), plain_call(changed, 1)}) ==
        std::vector<Own>{{5, 0}, {1, 1}, {0, 2}});
}
