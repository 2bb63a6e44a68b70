// Random policies and requests that meet often: few words, lists, prefixes, blocks, all that precedence can turn on.
#pragma once

#include <deque>
#include <random>

#include "tests/unit/policy/reference_matcher.hpp"

namespace sluice::policy {

class RandomPolicies {
 public:
  explicit RandomPolicies(std::uint64_t seed) : random_(seed) {}

  Bundle bundle();
  // Of tenant `shop`, on its plan `plan`, called p<index>.
  Policy policy(std::size_t index);
  // Valid until the next call.
  const CheckRequest& request();

  static const std::vector<reference::Condition>& conditions();

 private:
  ScopeTerm term(DimensionRef dimension);
  std::string word(Dimension dimension);
  std::string value(Dimension dimension);
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::mt19937_64 random_;
  std::deque<std::string> texts_;  // what the request points into
  CheckRequest request_;
};

inline constexpr std::int64_t kRandomNow = 1'800'000'000'000'000;

}  // namespace sluice::policy
