// What the programs that time decisions share: their flags, the subjects they ask for, how they print, how they fail.
#pragma once

#include <errno.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "tests/bench/measure.hpp"

namespace sluice::bench {

[[noreturn]] inline void stop(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", ::program_invocation_short_name, why.c_str());
  std::_Exit(1);  // nothing here is to be put in order
}

inline std::size_t number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0)
    stop("not a number above 0: " + std::string(text));
  return number;
}

struct Flags {
  std::size_t rounds = 7;
  std::size_t subjects = 1'000'000;
  std::string_view only = {};  // the name of the rows to measure; "": all
};

inline Flags read_flags(int count, char** words) {
  Flags flags;
  for (int i = 1; i < count; i += 2) {
    const std::string_view flag = words[i], value = i + 1 < count ? words[i + 1] : "";
    if (flag == "--rounds")
      flags.rounds = number_of(value);
    else if (flag == "--subjects")
      flags.subjects = number_of(value);
    else if (flag == "--only")
      flags.only = value;
    else
      stop("takes [--rounds N] [--subjects N] [--only NAME]");
  }
  if (flags.subjects > 10'000'000) stop("subjects are numbered with seven digits");
  return flags;
}

// "user:0000042" and so on, each once, in random order; from the first again after the last.
class Subjects {
 public:
  static constexpr std::size_t kSize = 12;  // bytes of one

  explicit Subjects(std::size_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::shuffle(order, std::mt19937(1));  // NOLINT(bugprone-random-generator-seed): the same each time
    text_.reserve(count * kSize);
    for (const std::uint32_t number : order) text_ += fmt::format("user:{:07}", number);
  }
  std::size_t size() const { return text_.size() / kSize; }
  std::string_view next() {
    at_ = at_ + kSize < text_.size() ? at_ + kSize : 0;
    return {text_.data() + at_, kSize};
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

// JSON: `members`, such as `"subjects":7`, then the rows.
inline void print(const std::string& members, const std::vector<Timed>& all) {
  fmt::print("{{{},\"rows\":[", members);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> ns = all[i].ns;
    std::ranges::sort(ns);
    fmt::print(
        "{}\n  {{\"name\":\"{}\",\"keys\":\"{}\",\"ns_min\":{:.1f},\"ns_median\":{:.1f},\"allocations\":{:.4f}}}",
        i == 0 ? "" : ",", all[i].name, all[i].keys, ns.front(), ns[ns.size() / 2], all[i].allocations);
  }
  fmt::print("\n]}}\n");
}

}  // namespace sluice::bench
