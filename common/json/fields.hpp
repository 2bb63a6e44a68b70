// Reads a JSON object field by field and collects all faults, each with its JSON pointer.
//
// `null` counts as absent. Getters return nullopt for an absent field and for a faulty one; present() tells the two
// apart. reject_unknown() reports the members that the caller did not ask for.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "common/json/field.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {

// A place in the document. REQUIRES: the parent and the name outlive the place.
class Place {
 public:
  Place() = default;  // the whole document
  Place member(std::string_view name) const& { return Place(this, name, 0, false); }
  Place item(std::size_t index) const& { return Place(this, {}, index, true); }
  Place member(std::string_view) const&& = delete;
  Place item(std::size_t) const&& = delete;

  std::string pointer() const;

 private:
  Place(const Place* parent, std::string_view name, std::size_t index, bool is_item)
      : parent_(parent), name_(name), index_(index), is_item_(is_item) {}

  const Place* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
  bool is_item_ = false;
};

// Keeps the first kMaxFaults and only counts the rest, so a hostile document cannot fill the memory.
class FaultList {
 public:
  static constexpr std::size_t kMaxFaults = 10'000;
  static constexpr std::size_t kMaxNotes = 100;

  void add(const Place& at, std::string text);
  void add(const Place& at, std::string_view member, std::string text);

  std::size_t count() const { return count_; }
  Faults take();

  // A note tells the writer of a valid document how the reader understood a member. Only the first note of each text
  // is kept, at most kMaxNotes, and none before keep_notes(true).
  void keep_notes(bool keep) { keeps_notes_ = keep; }
  void note(const Place& at, std::string_view member, std::string_view text);
  Faults take_notes() { return std::exchange(notes_, {}); }

  // With `ignore`, a member that nobody asked for is no fault: a later release may have written it. The first kMaxNotes
  // are kept for take_unknown().
  void ignore_unknown(bool ignore) { ignores_unknown_ = ignore; }
  void unknown(const Place& at, std::string_view member, std::string text);
  Faults take_unknown() { return std::exchange(unknown_, {}); }

 private:
  Faults faults_;
  std::size_t count_ = 0;
  bool keeps_notes_ = false;
  Faults notes_;
  bool ignores_unknown_ = false;
  Faults unknown_;
};

class Fields {
 public:
  // Each duplicate name is a fault. A `value` that is not an object is a fault, and is read as an empty object.
  Fields(const Value& value, const Place& at, FaultList& faults);
  Fields(const Fields&) = delete;  // Place objects point to at_
  Fields& operator=(const Fields&) = delete;

  bool is_object() const { return is_object_; }
  const Place& at() const { return at_; }
  FaultList& faults() { return faults_; }

  // Reads the member `alias` as the field `name`. Faults of the field then point to the alias. A fault if both are
  // given. REQUIRES: called before the field is read; both texts outlive this object.
  void accept_alias(std::string_view alias, std::string_view name);

  // Returns nullptr if the field is absent or null. reject_unknown() accepts the name from now on.
  const Value* take(std::string_view name);
  bool present(std::string_view name) { return take(name) != nullptr; }

  // Each getter adds a fault if the value has another type or is outside the inclusive range.
  std::optional<std::string_view> text(std::string_view name, std::size_t max_bytes);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  // `max_places`: the largest number of decimals; -1: no limit.
  std::optional<double> number(std::string_view name, double min, double max, int max_places = -1);
  // A number is a number of seconds.
  std::optional<Micros> duration(std::string_view name, Micros min, Micros max);
  std::optional<WallTime> timestamp(std::string_view name);
  // `names`: the valid strings, for the text of a fault.
  template <class Enum>
  std::optional<Enum> choice(std::string_view name, std::optional<Enum> (*from_text)(std::string_view),
                             std::string_view names) {
    const auto value = string(name);
    if (!value) return std::nullopt;
    const std::optional<Enum> found = from_text(*value);
    if (!found) not_a_choice(name, *value, names);
    return found;
  }
  // The same getters, with the name and the range from `field`.
  std::optional<std::string_view> text(const Field& field) {
    return text(field.name, static_cast<std::size_t>(field.max));
  }
  std::optional<bool> boolean(const Field& field) { return boolean(field.name); }
  std::optional<std::int64_t> integer(const Field& field) { return integer(field.name, field.min, field.max); }
  std::optional<double> number(const Field& field) {
    return number(field.name, static_cast<double>(field.min), static_cast<double>(field.max), field.places);
  }
  std::optional<Micros> duration(const Field& field) {
    return duration(field.name, Micros(field.min), Micros(field.max));
  }
  std::optional<WallTime> timestamp(const Field& field) { return timestamp(field.name); }
  template <class Enum>
  std::optional<Enum> choice(const Field& field, std::optional<Enum> (*from_text)(std::string_view)) {
    return choice(field.name, from_text, field.choices);
  }
  // Calls read(item, place). A value that is not a list is the only item if `or_one` is true, else it is a fault.
  template <class Read>
  void each(std::string_view name, bool or_one, Read read) {
    const Value* const value = take(name);
    if (value == nullptr) return;
    const Place list = at_.member(written(name));
    if (value->type() != Type::array) {
      if (or_one) return read(*value, list);
      return wrong_type(name, *value, "a list");
    }
    for (std::size_t i = 0; i < value->items().size(); ++i) {
      const Place item = list.item(i);
      read(value->items()[i], item);
    }
  }

  void fault(std::string_view name, std::string text) { faults_.add(at_, written(name), std::move(text)); }
  void note(std::string_view name, std::string_view text) { faults_.note(at_, written(name), text); }
  // If the field is absent, adds the fault "`name` is missing: `why`".
  void require(std::string_view name, std::string_view why);

  // For objects with members of any name. The caller sets Member::taken on the members it reads.
  std::span<Member> members() const { return members_; }

  // Call it once, after all fields were read. A fault hints at the most similar known name. See
  // FaultList::ignore_unknown().
  void reject_unknown();

 private:
  struct Alias {
    std::string_view alias;
    std::string_view name;
  };
  static constexpr std::size_t kMaxAliases = 8;

  std::string_view written(std::string_view name) const;  // the alias that is given for the field, else `name`
  std::optional<std::string_view> string(std::string_view name);
  void wrong_type(std::string_view name, const Value& value, std::string_view wanted);
  void not_a_choice(std::string_view name, std::string_view value, std::string_view names);

  Place at_;
  FaultList& faults_;
  std::span<Member> members_;
  bool is_object_ = false;
  // The names the caller asked for, possibly repeated. Names after the 96th never become hints.
  std::array<std::string_view, 96> known_;
  std::size_t known_count_ = 0;
  std::array<Alias, kMaxAliases> aliases_;  // those that are given
  std::size_t alias_count_ = 0;
};

std::string wrong_type_text(std::string_view name, const Value& value, std::string_view wanted);
// How to write the value as a text: YAML reads `id: 10` as a number. Returns "" if quotes would not help.
std::string quoting_hint(const Value& value);

}  // namespace sluice::json
