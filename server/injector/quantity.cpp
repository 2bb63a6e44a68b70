#include "server/injector/quantity.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace sluice::server::injector {
namespace {

struct Suffix {
  std::string_view text;
  std::int64_t factor;
};

constexpr std::array<Suffix, 11> kMemory{{{"Ki", 1LL << 10},
                                          {"Mi", 1LL << 20},
                                          {"Gi", 1LL << 30},
                                          {"Ti", 1LL << 40},
                                          {"Pi", 1LL << 50},
                                          {"k", 1'000},
                                          {"M", 1'000'000},
                                          {"G", 1'000'000'000},
                                          {"T", 1'000'000'000'000},
                                          {"P", 1'000'000'000'000'000},
                                          {"", 1}}};
constexpr std::size_t kBinary = 5;  // the first five suffixes are binary

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns `text` · `factor`. nullopt: not a number, or the product is too large or not whole.
std::optional<std::int64_t> parse_decimal(std::string_view text, std::int64_t factor) {
  std::int64_t number = 0;
  std::int64_t divisor = 1;
  bool fraction = false;
  bool digits = false;
  for (const char c : text) {
    if (c == '.' && !fraction && digits) {
      fraction = true;
      continue;
    }
    if (!is_digit(c)) return std::nullopt;
    digits = true;
    if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, c - '0', &number) ||
        (fraction && __builtin_mul_overflow(divisor, 10, &divisor))) {
      return std::nullopt;
    }
  }
  if (!digits || text.ends_with('.') || __builtin_mul_overflow(number, factor, &number) || number % divisor != 0) {
    return std::nullopt;
  }
  return number / divisor;
}

// Writes the number with the largest suffix of kMemory[first, last) whose factor divides the number.
std::string shortest(std::int64_t number, std::size_t first, std::size_t last) {
  const Suffix* best = &kMemory.back();
  for (std::size_t i = first; i < last; ++i) {
    if (number % kMemory[i].factor == 0) best = &kMemory[i];
  }
  return fmt::format("{}{}", number / best->factor, best->text);
}

}  // namespace

std::optional<std::int64_t> parse_cpu(std::string_view text) {
  const bool milli = text.ends_with('m');
  if (milli) text.remove_suffix(1);
  const auto number = parse_decimal(text, milli ? 1 : 1'000);
  return number && *number > 0 ? number : std::nullopt;
}

std::string cpu_text(std::int64_t milli) {
  return milli % 1'000 == 0 ? fmt::format("{}", milli / 1'000) : fmt::format("{}m", milli);
}

std::optional<std::int64_t> parse_memory(std::string_view text) {
  const auto suffix =
      std::ranges::find_if(kMemory, [&](const Suffix& candidate) { return text.ends_with(candidate.text); });
  text.remove_suffix(suffix->text.size());
  const auto number = parse_decimal(text, suffix->factor);
  return number && *number > 0 ? number : std::nullopt;
}

std::string memory_text(std::int64_t bytes) {
  const std::string decimal = shortest(bytes, kBinary, kMemory.size() - 1);
  if (bytes % 1'024 != 0) return decimal;
  std::string binary = shortest(bytes, 0, kBinary);
  return decimal.size() < binary.size() ? decimal : binary;
}

}  // namespace sluice::server::injector
