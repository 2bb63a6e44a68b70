#include "common/json/fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/base/decimal.hpp"
#include "common/base/duration.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/pointer.hpp"

namespace sluice::json {
namespace {

constexpr std::size_t kMaxNumberShown = 64;  // bytes of a number in a fault's text

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

}  // namespace

std::string Place::pointer() const {
  if (parent_ == nullptr) return {};
  std::string text = parent_->pointer();
  if (is_item_) {
    append_pointer(text, index_);
  } else {
    append_pointer(text, name_);
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

void FaultList::note(const Place& at, std::string_view member, std::string_view text) {
  if (!keeps_notes_ || notes_.size() == kMaxNotes) return;
  if (std::ranges::any_of(notes_, [text](const Fault& note) { return note.text == text; })) return;
  notes_.push_back({at.member(member).pointer(), std::string(text)});
}

void FaultList::unknown(const Place& at, std::string_view member, std::string text) {
  if (!ignores_unknown_) return add(at, member, std::move(text));
  if (unknown_.size() < kMaxNotes) unknown_.push_back({at.member(member).pointer(), std::move(text)});
}

std::string wrong_type_text(std::string_view name, const Value& value, std::string_view wanted) {
  return fmt::format("{} must be {}, not {}", name, wanted, describe(value.type()));
}

std::string quoting_hint(const Value& value) {
  if (value.type() == Type::boolean) return fmt::format(": write it in quotes, as \"{}\"", value.boolean());
  if (value.type() != Type::number || value.text().size() > kMaxNumberShown) return {};
  return fmt::format(": write it in quotes, as {}", quoted(value.text()));
}

Fields::Fields(const Value& value, const Place& at, FaultList& faults) : at_(at), faults_(faults) {
  if (value.type() != Type::object) {
    faults_.add(at_, fmt::format("this must be an object, not {}", describe(value.type())));
    return;
  }
  is_object_ = true;
  members_ = value.members();
  for (Member& member : members_) {
    if (!member.duplicate) continue;
    member.taken = true;
    fault(member.name, fmt::format("{} is given twice in one object: keep one", quoted(member.name)));
  }
}

void Fields::accept_alias(std::string_view alias, std::string_view name) {
  const auto given =
      std::ranges::find_if(members_, [alias](const Member& member) { return member.name == alias && !member.taken; });
  if (given == members_.end()) return;
  given->taken = true;
  if (given->value.type() == Type::null) return;
  if (present(name) || alias_count_ == kMaxAliases) {
    return faults_.add(at_, alias, fmt::format("{} and {} say the same: keep one", written(name), alias));
  }
  aliases_[alias_count_++] = {alias, name};
}

std::string_view Fields::written(std::string_view name) const {
  for (const Alias& each : std::span(aliases_).first(alias_count_)) {
    if (each.name == name) return each.alias;
  }
  return name;
}

const Value* Fields::take(std::string_view name) {
  if (known_count_ < known_.size()) known_[known_count_++] = name;
  const std::string_view as = written(name);
  for (Member& member : members_) {
    if (member.name != as) continue;
    member.taken = true;
    return member.value.type() == Type::null ? nullptr : &member.value;
  }
  return nullptr;
}

std::optional<std::string_view> Fields::string(std::string_view name) {
  const Value* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() == Type::string) return value->text();
  fault(name, wrong_type_text(written(name), *value, "a string") + quoting_hint(*value));
  return std::nullopt;
}

std::optional<std::string_view> Fields::text(std::string_view name, std::size_t max_bytes) {
  const auto value = string(name);
  if (!value || value->size() <= max_bytes) return value;
  fault(name, fmt::format("{} is longer than {} bytes", written(name), max_bytes));
  return std::nullopt;
}

std::optional<bool> Fields::boolean(std::string_view name) {
  const Value* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() == Type::boolean) return value->boolean();
  wrong_type(name, *value, "true or false");
  return std::nullopt;
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t min, std::int64_t max) {
  const Value* const value = take(name);
  if (value == nullptr) return std::nullopt;
  const bool is_number = value->type() == Type::number;
  const auto number = is_number ? whole_number(value->text()) : std::nullopt;
  if (number && *number >= min && *number <= max) return number;
  const std::string_view got = is_number ? value->text().substr(0, kMaxNumberShown) : describe(value->type());
  fault(name, fmt::format("{} must be a whole number from {} to {}, not {}", written(name), min, max, got));
  return std::nullopt;
}

std::optional<double> Fields::number(std::string_view name, double min, double max, int max_places) {
  const Value* const value = take(name);
  if (value == nullptr) return std::nullopt;
  const bool is_number = value->type() == Type::number;
  const std::string_view text = is_number ? value->text() : std::string_view();
  double number = 0;
  const auto code = std::from_chars(text.data(), text.data() + text.size(), number).ec;
  if (is_number && code == std::errc{} && number >= min && number <= max &&
      (max_places < 0 || has_at_most_places(text, max_places))) {
    return number + 0.0;  // -0 becomes 0
  }
  const std::string places = max_places < 0 ? "" : fmt::format(" with at most {} decimals", max_places);
  const std::string_view got = is_number ? text.substr(0, kMaxNumberShown) : describe(value->type());
  fault(name, fmt::format("{} must be a number from {} to {}{}, not {}", written(name), min, max, places, got));
  return std::nullopt;
}

std::optional<Micros> Fields::duration(std::string_view name, Micros min, Micros max) {
  const Value* const value = take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() != Type::string && value->type() != Type::number) {
    wrong_type(name, *value, "a duration such as \"10s\" or \"1 minute\", or a whole number of seconds");
    return std::nullopt;
  }
  const auto seconds = value->type() == Type::number ? whole_number(value->text()) : std::nullopt;
  const std::string text = seconds ? std::to_string(*seconds) : std::string(value->text());
  const auto duration = parse_written_duration(text);
  if (!duration) {
    fault(name, duration.error().text);
    return std::nullopt;
  }
  const auto doubt = note_on_milliseconds(text);
  if (*duration >= min && *duration <= max) {
    if (doubt) note(name, *doubt);
    return *duration;
  }
  fault(name, fmt::format("{} must be from {} to {}, not {}{}", written(name), format_duration(min),
                          format_duration(max), format_duration(*duration), doubt ? ": " + *doubt : std::string()));
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

void Fields::wrong_type(std::string_view name, const Value& value, std::string_view wanted) {
  fault(name, wrong_type_text(written(name), value, wanted));
}

void Fields::not_a_choice(std::string_view name, std::string_view value, std::string_view names) {
  fault(name, fmt::format("{} must be one of {}, not {}", written(name), names, quoted(value)));
}

void Fields::reject_unknown() {
  for (const Member& member : members_) {
    if (member.taken) continue;
    const std::string_view hint = nearest(member.name, std::span(known_).first(known_count_));
    faults_.unknown(at_, member.name,
                    hint.empty() ? fmt::format("{} is not a field of this object: remove it", quoted(member.name))
                                 : fmt::format("{} is not a field of this object: did you mean \"{}\"?",
                                               quoted(member.name), hint));
  }
}

}  // namespace sluice::json
