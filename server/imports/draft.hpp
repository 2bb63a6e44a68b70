// What an importer makes of the texts: policies, notes and faults, each with its place.
//
// Whoever may configure a tenant can send any text, so a draft has bounds: beyond them it keeps nothing, and says so.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/domain/policy.hpp"

namespace sluice::server::imports {

// One text. The name is for people: a file as given on the command line.
struct Source {
  std::string name;
  std::string text;
};

struct Place {
  std::size_t file = 0;    // index of the source
  std::uint32_t line = 0;  // from 1; 0 is unknown

  auto operator<=>(const Place&) const = default;
};

// Something in a source that has no counterpart, or that Sluice counts in another way.
struct Note {
  Place at;
  std::string what;     // the member or directive, as written
  std::string why;      // what differs, with numbers where there are some
  std::string instead;  // what to do; "" if there is nothing to do
};

// An invalid source. `text` names the member, the rule and the fix.
struct SourceFault {
  Place at;
  std::string text;
};

// Makes names unique: the second NAME becomes NAME-2, or NAME_2, depending on the sign.
class UniqueNames {
 public:
  explicit UniqueNames(char sign) : sign_(sign) {}

  std::string add(const std::string& name);

 private:
  char sign_;
  std::map<std::string, std::size_t> last_;  // name to its last number
};

class Draft {
 public:
  static constexpr std::size_t kMaxPolicies = 10'000;
  static constexpr std::size_t kMaxScopeValues = 100'000;  // of all policies together
  static constexpr std::size_t kMaxNotes = 10'000;
  static constexpr std::size_t kMaxFaults = 1'000;

  // A policy beyond the bounds is a fault. REQUIRES: the id is from make_id(); `tenant_id` is empty.
  void add(Policy policy, Place at);
  // Keeps the first kMaxNotes, and one more that says so.
  void note(Place at, std::string_view what, std::string why, std::string instead = {});
  bool has_room_for_notes() const { return notes_.size() <= kMaxNotes; }
  // Keeps the first kMaxFaults.
  void fault(Place at, std::string text);

  // An id that no other policy of this draft has. Characters that ids cannot have become '-'. The same parts in the
  // same order give the same id, so a second import changes nothing.
  std::string make_id(std::initializer_list<std::string_view> parts);

  const std::vector<Policy>& policies() const { return policies_; }
  const std::vector<Place>& places() const { return places_; }  // of each policy
  // Sorted by place. Notes of one place are in the order of note().
  std::vector<Note> take_notes();
  std::vector<SourceFault> take_faults() { return std::move(faults_); }
  bool faultless() const { return faults_.empty(); }

 private:
  std::vector<Policy> policies_;
  std::vector<Place> places_;
  std::size_t scope_values_ = 0;
  std::vector<Note> notes_;
  std::vector<SourceFault> faults_;
  UniqueNames ids_{'-'};
};

// A name of a limit: characters that it cannot have become '_'. "" becomes `fallback`.
std::string limit_name(std::string_view text, std::string_view fallback);

// A dimension without a NAME, or attr.NAME.
inline DimensionRef dimension(Dimension which) { return {which, {}}; }
inline DimensionRef attribute(std::string_view name) { return {Dimension::attr, std::string(name)}; }

// Adds a condition to a policy. A value that ends in '*' is a prefix.
void require_value(Policy& policy, const DimensionRef& which, std::string value);

// A text as a value of a match_expr.
std::string expression_value(std::string_view text);
// Adds a condition with &&.
void require_expression(Policy& policy, std::string_view condition);

}  // namespace sluice::server::imports
