// The sketch against the truth.
#include "engine/usage/top_subjects.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <fmt/core.h>

namespace sluice::usage {
namespace {

using Truth = std::map<std::string, std::uint64_t>;

Truth told(const TopSubjects& top) {
  Truth out;
  top.each([&](const SubjectName& name, std::uint64_t count) { REQUIRE(out.emplace(name.subject, count).second); });
  return out;
}

// Adds `draw()` so often, and holds what the sketch tells against the truth.
template <class Draw>
void check_bounds(TopSubjects& top, std::size_t capacity, std::size_t times, Draw draw) {
  Truth truth;
  for (std::size_t i = 0; i < times; ++i) {
    const std::string subject = fmt::format("u{}", draw());
    ++truth[subject];
    top.add({"shop", "orders", subject, false});
  }
  const Truth found = told(top);
  CHECK(found.size() == std::min(capacity, truth.size()));
  const std::uint64_t slack = times / capacity;
  for (const auto& [subject, count] : found) {
    CAPTURE(subject);
    CHECK(count >= 1);
    CHECK(count <= truth[subject]);
    CHECK(count + slack >= truth[subject]);
  }
  for (const auto& [subject, count] : truth) {
    if (count > slack) CHECK(found.contains(subject));
  }
}

TEST_CASE("as long as there is room every count is exact") {
  TopSubjects top(100);
  std::mt19937 random(1);
  Truth truth;
  for (int i = 0; i < 5000; ++i) {
    const std::string subject = fmt::format("u{}", random() % 100);
    ++truth[subject];
    top.add({"shop", "orders", subject, false});
  }
  CHECK(told(top) == truth);
}

TEST_CASE("what it tells is never too much, too little by n / m at most, and who is above that is in it") {
  std::mt19937 random(2);
  for (const std::size_t capacity : {1U, 2U, 7U, 64U, 200U}) {
    CAPTURE(capacity);
    TopSubjects top(capacity);
    std::uniform_real_distribution<double> unit(1e-6, 1.0);
    check_bounds(top, capacity, 20'000, [&] { return static_cast<long>(std::pow(unit(random), -1.2)); });  // skewed
    top.clear();
    CHECK(told(top).empty());
    check_bounds(top, capacity, 20'000, [&] { return random() % 1000; });  // even
    top.clear();
    std::size_t turn = 0;
    check_bounds(top, capacity, 20'000, [&] { return ++turn % (capacity + 1); });  // the worst for it
  }
}

TEST_CASE("tenants, policies and ways of telling are told apart") {
  TopSubjects top(10);
  top.add({"a", "p", "u", false});
  top.add({"a", "p", "u", true});
  top.add({"a", "q", "u", false});
  top.add({"b", "p", "u", false});
  top.add({"b", "p", "u", false});
  CHECK(top.size() == 4);
  top.each([](const SubjectName& name, std::uint64_t count) { CHECK(count == (name.tenant == "b" ? 2 : 1)); });
}

}  // namespace
}  // namespace sluice::usage
