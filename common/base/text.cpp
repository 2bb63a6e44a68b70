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

// "policy" and "policies", in this order.
bool is_plural(std::string_view one, std::string_view many) {
  if (!one.ends_with('y') || !many.ends_with("ies")) return false;
  return one.substr(0, one.size() - 1) == many.substr(0, many.size() - 3);
}

// "tenants" and "tenant_ids", in this order.
bool is_without_id(std::string_view name, std::string_view known) {
  constexpr std::string_view kIds = "_ids";
  if (!name.ends_with('s') || !known.ends_with(kIds)) return false;
  return name.substr(0, name.size() - 1) == known.substr(0, known.size() - kIds.size());
}

// "ip" and "source_ip", or "verify" and "audit verify", in this order.
bool is_last_word(std::string_view name, std::string_view known) {
  if (name.empty() || known.size() <= name.size() || !known.ends_with(name)) return false;
  const char before = known[known.size() - name.size() - 1];
  return before == '_' || before == ' ';
}

// A missing or additional part of a name counts as one error, however long it is.
std::size_t typing_errors(std::string_view name, std::string_view known) {
  constexpr std::size_t kStem = 4;
  constexpr std::size_t kFewestEdited = 3;  // with an edit, shorter names could be any other name
  if (name.size() >= kStem && known.starts_with(name)) return 1;
  if (known.size() >= kStem && name.starts_with(known)) return 1;
  if (is_last_word(name, known) || is_without_id(name, known)) return 1;
  if (is_plural(name, known) || is_plural(known, name)) return 1;
  if (name.size() < kFewestEdited && name != known) return kMaxQuoted;
  return edit_distance(name, known);
}

// Names that differ by more typing errors are not alike.
std::size_t most_errors(std::string_view name) { return std::min<std::size_t>(2, (name.size() + 1) / 3); }

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kMaxQuoted) return {};
  std::string_view best;
  std::size_t fewest = 1 + most_errors(name);
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

void NearestNames::offer(std::string_view known) {
  constexpr std::size_t kMostEffort = 100'000;
  if (name_.size() > kMaxQuoted || known.size() > kMaxQuoted || effort_ > kMostEffort) return;
  effort_ += name_.size() * known.size();
  const std::size_t errors = typing_errors(name_, known);
  if (errors > most_errors(name_)) return;
  std::size_t place = count_;
  while (place > 0 && (errors_[place - 1] > errors || (errors_[place - 1] == errors && names_[place - 1] > known))) {
    --place;
  }
  if (place == kMost) return;
  count_ = std::min(count_ + 1, kMost);
  for (std::size_t i = count_ - 1; i > place; --i) {
    names_[i] = names_[i - 1];
    errors_[i] = errors_[i - 1];
  }
  names_[place] = known;
  errors_[place] = errors;
}

std::string did_you_mean(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? " Did you mean " : i + 1 == names.size() ? " or " : ", ";
    text += quoted(names[i]);
  }
  return text.empty() ? text : text + "?";
}

std::string quoted(std::string_view text) {
  if (text.size() <= kMaxQuoted) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}…\"", utf8_prefix(text, kMaxQuoted));
}

std::string visible(std::string_view text) {
  std::string result;
  std::size_t shown = 0;  // of `text`
  for (std::size_t i = 0, next = 0; i < text.size(); i = next) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t sequence = utf8_sequence(text, i);
    next = i + std::max<std::size_t>(sequence, 1);
    std::string escape;
    if (sequence == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      escape = fmt::format("\\u{:04x}", static_cast<unsigned char>(text[i + 1]));
    } else if (sequence == 0 && byte >= 0x80) {
      escape = fmt::format("\\x{:02x}", byte);
    } else if (byte == '\n') {
      escape = "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      escape = fmt::format("\\u{:04x}", byte);
    } else {
      continue;
    }
    result.append(text, shown, i - shown);
    result += escape;
    shown = next;
  }
  return result.append(text, shown);
}

}  // namespace sluice
