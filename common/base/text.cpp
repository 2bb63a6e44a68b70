#include "common/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/utf8.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxQuoted = 64;  // bytes

// The Levenshtein distance. REQUIRES: `b` has at most kMaxQuoted bytes.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kMaxQuoted + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j - 1] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

// A missing or additional ending counts as one error, however long it is.
std::size_t typing_errors(std::string_view name, std::string_view known) {
  constexpr std::size_t kStem = 4;
  if (name.size() >= kStem && known.starts_with(name)) return 1;
  if (known.size() >= kStem && name.starts_with(known)) return 1;
  return edit_distance(name, known);
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kMaxQuoted) return {};
  std::string_view best;
  std::size_t fewest = 1 + std::min<std::size_t>(2, (name.size() + 1) / 3);
  for (const std::string_view candidate : known) {
    if (candidate.size() > kMaxQuoted) continue;
    const std::size_t count = typing_errors(name, candidate);
    if (count < fewest) {
      fewest = count;
      best = candidate;
    }
  }
  return best;
}

std::string quoted(std::string_view text) {
  if (text.size() <= kMaxQuoted) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}…\"", utf8_prefix(text, kMaxQuoted));
}

}  // namespace sluice
