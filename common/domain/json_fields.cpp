#include "common/domain/json_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "common/base/decimal.hpp"
#include "common/base/duration.hpp"
#include "common/base/timestamp.hpp"
#include "common/base/utf8.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxQuoted = 64;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [after, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc{} && after == end) return value;
  const auto exact = parse_decimal(text);  // 1e6 and 10.0 are whole numbers too
  if (!exact || exact->denominator != 1) return std::nullopt;
  return exact->numerator;
}

bool has_at_most_places(std::string_view text, int places) {
  const auto exact = parse_decimal(text);
  if (!exact) return false;
  std::int64_t power = 1;
  for (; places > 0; --places) power *= 10;
  return power % exact->denominator == 0;
}

// Insertions, deletions and replacements that turn one text into the other (Levenshtein).
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

// How likely one name was meant for the other, less being likelier: an ending left off or added counts as one slip.
std::size_t slips(std::string_view name, std::string_view known) {
  constexpr std::size_t kStem = 4;
  if (name.size() >= kStem && known.starts_with(name)) return 1;
  if (known.size() >= kStem && name.starts_with(known)) return 1;
  return edit_distance(name, known);
}

void append_pointer_token(std::string& out, std::string_view name) {
  out += '/';
  for (const char c : name) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string Place::pointer() const {
  if (parent_ == nullptr) return {};
  std::string text = parent_->pointer();
  if (is_item_) {
    text.append("/").append(std::to_string(index_));
  } else {
    append_pointer_token(text, name_);
  }
  return text;
}

void FaultList::add(const Place& at, std::string text) {
  if (++count_ <= kMaxFaults) faults_.push_back({at.pointer(), std::move(text)});
}

void FaultList::add(const Place& at, std::string_view member, std::string text) {
  add(at.member(member), std::move(text));
}

Faults FaultList::take() {
  if (count_ > kMaxFaults) faults_.push_back({"", fmt::format("{} more faults are not listed", count_ - kMaxFaults)});
  count_ = 0;
  return std::exchange(faults_, {});
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kMaxQuoted) return {};
  std::string_view best;
  std::size_t best_slips = 1 + std::min<std::size_t>(2, (name.size() + 1) / 3);
  for (const std::string_view candidate : known) {
    if (candidate.size() > kMaxQuoted) continue;
    const std::size_t count = slips(name, candidate);
    if (count < best_slips) {
      best_slips = count;
      best = candidate;
    }
  }
  return best;
}

std::string quoted(std::string_view text) {
  if (text.size() <= kMaxQuoted) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}…\"", utf8_prefix(text, kMaxQuoted));
}

std::string wrong_type_text(std::string_view name, const JsonValue& value, std::string_view wanted) {
  return fmt::format("{} must be {}, not {}", name, wanted, describe(value.type()));
}

Fields::Fields(const JsonValue& value, const Place& at, FaultList& faults) : at_(at), faults_(faults) {
  if (value.type() != JsonType::object) {
    faults_.add(at_, fmt::format("this must be an object, not {}", describe(value.type())));
    return;
  }
  is_object_ = true;
  members_ = value.members();
  for (JsonMember& member : members_) {
    if (!member.duplicate) continue;
    member.taken = true;
    fault(member.name, fmt::format("{} is given twice in one object: keep one", quoted(member.name)));
  }
}

const JsonValue* Fields::take(std::string_view name) {
  if (known_count_ < known_.size()) known_[known_count_++] = name;
  for (JsonMember& member : members_) {
    if (member.name != name) continue;
    member.taken = true;
    return member.value.type() == JsonType::null ? nullptr : &member.value;
  }
  return nullptr;
}

std::optional<std::string_view> Fields::string(std::string_view name) {
  const JsonValue* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() == JsonType::string) return value->text();
  wrong_type(name, *value, "a string");
  return std::nullopt;
}

std::optional<std::string_view> Fields::text(std::string_view name, std::size_t max_bytes) {
  const auto value = string(name);
  if (!value || value->size() <= max_bytes) return value;
  fault(name, fmt::format("{} is longer than {} bytes", name, max_bytes));
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const JsonValue* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() == JsonType::boolean) return value->boolean();
  wrong_type(name, *value, "true or false");
  return std::nullopt;
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t min, std::int64_t max) {
  const JsonValue* const value = take(name);
  if (value == nullptr) return std::nullopt;
  const bool is_number = value->type() == JsonType::number;
  const auto number = is_number ? whole_number(value->text()) : std::nullopt;
  if (number && *number >= min && *number <= max) return number;
  const std::string_view got = is_number ? value->text().substr(0, kMaxQuoted) : describe(value->type());
  fault(name, fmt::format("{} must be a whole number from {} to {}, not {}", name, min, max, got));
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name, double min, double max, int max_places) {
  const JsonValue* const value = take(name);
  if (value == nullptr) return std::nullopt;
  const bool is_number = value->type() == JsonType::number;
  const std::string_view text = is_number ? value->text() : std::string_view();
  double number = 0;
  const auto code = std::from_chars(text.data(), text.data() + text.size(), number).ec;
  if (is_number && code == std::errc{} && number >= min && number <= max &&
      (max_places < 0 || has_at_most_places(text, max_places))) {
    return number + 0.0;  // -0 becomes 0
  }
  const std::string places = max_places < 0 ? "" : fmt::format(" with at most {} decimals", max_places);
  const std::string_view got = is_number ? text.substr(0, kMaxQuoted) : describe(value->type());
  fault(name, fmt::format("{} must be a number from {} to {}{}, not {}", name, min, max, places, got));
  return std::nullopt;
}

std::optional<Micros> Fields::duration(std::string_view name, Micros min, Micros max) {
  const JsonValue* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() != JsonType::string) {
    wrong_type(name, *value, "a duration in quotes, such as \"10s\" or \"250ms\"");
    return std::nullopt;
  }
  const auto duration = parse_duration(value->text());
  if (!duration) {
    fault(name, duration.error().text);
    return std::nullopt;
  }
  if (*duration >= min && *duration <= max) return *duration;
  fault(name, fmt::format("{} must be from {} to {}, not {}", name, format_duration(min), format_duration(max),
                          format_duration(*duration)));
  return std::nullopt;
}

std::optional<WallTime> Fields::timestamp(std::string_view name) {
  const auto value = string(name);
  if (!value) return std::nullopt;
  const auto time = parse_timestamp(*value);
  if (time) return *time;
  fault(name, time.error().text);
  return std::nullopt;
}

void Fields::require(std::string_view name, std::string_view why) {
  if (is_object_ && !present(name)) fault(name, fmt::format("{} is missing: {}", name, why));
}

void Fields::wrong_type(std::string_view name, const JsonValue& value, std::string_view wanted) {
  fault(name, wrong_type_text(name, value, wanted));
}

void Fields::not_a_choice(std::string_view name, std::string_view value, std::string_view names) {
  fault(name, fmt::format("{} must be one of {}, not {}", name, names, quoted(value)));
}

void Fields::reject_unknown() {
  for (const JsonMember& member : members_) {
    if (member.taken) continue;
    const std::string_view hint = nearest(member.name, std::span(known_).first(known_count_));
    fault(member.name, hint.empty() ? fmt::format("{} is not a field of this object: remove it", quoted(member.name))
                                    : fmt::format("{} is not a field of this object: did you mean \"{}\"?",
                                                  quoted(member.name), hint));
  }
}

}  // namespace sluice
