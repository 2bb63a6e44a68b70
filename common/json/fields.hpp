// Reading one JSON object field by field, collecting every fault with its JSON pointer.
//
// A reader takes the fields it knows by name; what is left at the end is unknown and reported with the nearest known
// name. `null` is the same as leaving a field out. Nothing here throws or stops at the first fault: a getter returns
// nothing both for an absent and for a faulty field (present() tells which), and the caller goes on.
//
// Thread safety: none; everything belongs to the one reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::json {

// A place in the document, as a chain on the stack: the pointer is only spelt out for a fault.
// REQUIRES: the parent and the name outlive it.
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

// The faults of one document, in the order found. Keeps the first kMaxFaults and counts the rest: a hostile document
// must not cost more memory in faults than in itself.
class FaultList {
 public:
  static constexpr std::size_t kMaxFaults = 10'000;

  void add(const Place& at, std::string text);
  // The place `at`/`member`.
  void add(const Place& at, std::string_view member, std::string text);

  std::size_t count() const { return count_; }
  Faults take();

 private:
  Faults faults_;
  std::size_t count_ = 0;
};

class Fields {
 public:
  // Faults: `value` is not an object (it is then read as an empty one and is_object() is false), duplicate names.
  Fields(const Value& value, const Place& at, FaultList& faults);
  Fields(const Fields&) = delete;  // places point into it
  Fields& operator=(const Fields&) = delete;

  bool is_object() const { return is_object_; }
  const Place& at() const { return at_; }
  FaultList& faults() { return faults_; }

  // The value of a field, now known; nullptr where it is absent or null.
  const Value* take(std::string_view name);
  bool present(std::string_view name) { return take(name) != nullptr; }

  // Each getter: one fault where the value has another type or is out of its (inclusive) range.
  std::optional<std::string_view> text(std::string_view name, std::size_t max_bytes);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t min, std::int64_t max);
  // `max_places` decimals at most; -1: any.
  std::optional<double> number(std::string_view name, double min, double max, int max_places = -1);
  std::optional<Micros> duration(std::string_view name, Micros min, Micros max);
  std::optional<WallTime> timestamp(std::string_view name);
  // One of `names`, as `from_text` reads it.
  template <class Enum>
  std::optional<Enum> choice(std::string_view name, std::optional<Enum> (*from_text)(std::string_view),
                             std::string_view names) {
    const auto value = string(name);
    if (!value) return std::nullopt;
    const std::optional<Enum> found = from_text(*value);
    if (!found) not_a_choice(name, *value, names);
    return found;
  }
  // Calls read(item, place) for each item of a list; a value that is no list is a fault, or with `or_one` the only
  // item.
  template <class Read>
  void each(std::string_view name, bool or_one, Read read) {
    const Value* const value = take(name);
    if (value == nullptr) return;
    const Place list = at_.member(name);
    if (value->type() != Type::array) {
      if (or_one) return read(*value, list);
      return wrong_type(name, *value, "a list");
    }
    for (std::size_t i = 0; i < value->items().size(); ++i) {
      const Place item = list.item(i);
      read(value->items()[i], item);
    }
  }

  void fault(std::string_view name, std::string text) { faults_.add(at_, name, std::move(text)); }
  // "`name` is missing: `why`", unless it is there.
  void require(std::string_view name, std::string_view why);

  // The members nobody took yet, for objects with free names; taking them is up to the caller.
  std::span<Member> members() const { return members_; }

  // Call once, last: every member nobody took is a fault.
  void reject_unknown();

 private:
  std::optional<std::string_view> string(std::string_view name);
  void wrong_type(std::string_view name, const Value& value, std::string_view wanted);
  void not_a_choice(std::string_view name, std::string_view value, std::string_view names);

  Place at_;
  FaultList& faults_;
  std::span<Member> members_;
  bool is_object_ = false;
  std::array<std::string_view, 96> known_;  // the names asked for, some of them twice; more than this only lack a hint
  std::size_t known_count_ = 0;
};

// "`name` must be `wanted`, not a string" and the like.
std::string wrong_type_text(std::string_view name, const Value& value, std::string_view wanted);

}  // namespace sluice::json
