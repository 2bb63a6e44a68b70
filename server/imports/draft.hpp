// What an importer makes of the texts: policies, notes and faults, each with its place.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
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

class Draft {
 public:
  // REQUIRES: the id is from make_id(); `tenant_id` is empty.
  void add(Policy policy, Place at);
  void note(Place at, std::string_view what, std::string why, std::string instead = {});
  void fault(Place at, std::string text) { faults_.push_back({at, std::move(text)}); }

  // An id that no other policy of this draft has. Characters that ids cannot have become '-'. The same parts in the
  // same order give the same id, so a second import changes nothing.
  std::string make_id(std::initializer_list<std::string_view> parts);

  const std::vector<Policy>& policies() const { return policies_; }
  const std::vector<Place>& places() const { return places_; }  // of each policy
  std::vector<Note> take_notes() { return std::move(notes_); }
  std::vector<SourceFault> take_faults() { return std::move(faults_); }
  bool faultless() const { return faults_.empty(); }

 private:
  std::vector<Policy> policies_;
  std::vector<Place> places_;
  std::vector<Note> notes_;  // sorted by place, then in the order of note()
  std::vector<SourceFault> faults_;
  std::set<std::string, std::less<>> ids_;
};

std::string lower_case(std::string_view text);

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
