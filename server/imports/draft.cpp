#include "server/imports/draft.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/letter_case.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::size_t kHashBytes = 4;  // of a long id's own text, at its end
constexpr std::size_t kRoomForNumber = 6;

std::string id_text(std::initializer_list<std::string_view> parts) {
  std::string id;
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (!id.empty() && id.back() != '-') id += '-';
    for (const char raw : part) {
      const char c = lower_case(raw);
      const bool kept = identifiers::is_alnum(c) || c == '.';
      if (kept || id.empty() || id.back() != '-') id += kept ? c : '-';
    }
  }
  while (!id.empty() && !identifiers::is_alnum(id.back())) id.pop_back();
  if (id.size() > kMaxIdBytes - kRoomForNumber) {
    const std::string hash = to_hex(ByteView(sha256(id)).first(kHashBytes));
    id.resize(kMaxIdBytes - kRoomForNumber - hash.size() - 1);
    id.append("-").append(hash);
  }
  return id;
}

}  // namespace

std::string UniqueNames::add(const std::string& name) {
  std::size_t& last = last_.emplace(name, 0).first->second;
  if (++last == 1) return name;
  for (;; ++last) {
    std::string numbered = fmt::format("{}{}{}", name, sign_, last);
    if (last_.emplace(numbered, 1).second) return numbered;
  }
}

void Draft::add(Policy policy, Place at) {
  for (const ScopeTerm& term : policy.scope) scope_values_ += term.values.size();
  if (policies_.size() == kMaxPolicies || scope_values_ > kMaxScopeValues) {
    return fault(at,
                 fmt::format("an import makes at most {} policies, with {} values in their scopes: divide the files",
                             kMaxPolicies, kMaxScopeValues));
  }
  policies_.push_back(std::move(policy));
  places_.push_back(at);
}

void Draft::note(Place at, std::string_view what, std::string why, std::string instead) {
  if (notes_.size() > kMaxNotes) return;
  if (notes_.size() == kMaxNotes) {
    what = "notes";
    why = fmt::format("there are more than these {}, which are not listed", kMaxNotes);
    instead = "divide the files to see all of them";
  }
  notes_.push_back({at, std::string(what), std::move(why), std::move(instead)});
}

void Draft::fault(Place at, std::string text) {
  if (faults_.size() < kMaxFaults) faults_.push_back({at, std::move(text)});
}

std::vector<Note> Draft::take_notes() {
  std::vector<std::pair<Place, std::size_t>> order;
  for (const Note& note : notes_) order.emplace_back(note.at, order.size());
  std::ranges::sort(order);
  std::vector<Note> sorted;
  for (const auto& [at, index] : order) sorted.push_back(std::move(notes_[index]));
  notes_.clear();
  return sorted;
}

std::string Draft::make_id(std::initializer_list<std::string_view> parts) { return ids_.add(id_text(parts)); }

std::string limit_name(std::string_view text, std::string_view fallback) {
  std::string name;
  for (const char raw : text.substr(0, kMaxIdBytes)) {
    const char c = lower_case(raw);
    const bool kept = identifiers::is_alnum(c) || c == '_' || (!name.empty() && (c == '.' || c == '-'));
    name += kept ? c : '_';
  }
  return name.empty() ? std::string(fallback) : name;
}

void require_value(Policy& policy, const DimensionRef& which, std::string value) {
  const auto found = std::ranges::find(policy.scope, which, &ScopeTerm::dimension);
  if (found != policy.scope.end()) {
    found->values.insert(std::ranges::upper_bound(found->values, value), std::move(value));
    return;
  }
  policy.scope.push_back({which, {std::move(value)}});
  std::ranges::sort(policy.scope, {}, &ScopeTerm::dimension);
}

std::string expression_value(std::string_view text) {
  std::string out = "'";
  for (std::size_t i = 0; i < text.size(); ++i) {
    // A backslash stands for itself, except before the quote and another backslash.
    const bool escapes =
        text[i] == '\'' || (text[i] == '\\' && (i + 1 == text.size() || text[i + 1] == '\\' || text[i + 1] == '\''));
    if (escapes) out += '\\';
    out += text[i];
  }
  return out += '\'';
}

void require_expression(Policy& policy, std::string_view condition) {
  if (!policy.match_expr.empty()) policy.match_expr += " && ";
  policy.match_expr += condition;
}

}  // namespace sluice::server::imports
