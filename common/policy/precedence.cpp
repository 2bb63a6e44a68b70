#include "common/policy/precedence.hpp"

#include <algorithm>
#include <utility>

#include "common/policy/levels.hpp"

namespace sluice::policy {
namespace {

// REQUIRES: as many dimensions on both sides. Both are sorted, so the first difference decides: another dimension, of
// which the earlier in the order counts, or another narrowness.
std::pair<int, const Term*> compare_narrowness(const Scope& a, const Scope& b) {
  auto place = [](const Term& term) { return std::pair(level_of(term.dimension.dimension), term.dimension); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto here = place(a[i]), there = place(b[i]);
    if (here != there) return here < there ? std::pair(-1, &a[i]) : std::pair(1, &b[i]);
    if (a[i].narrowness != b[i].narrowness) {
      return a[i].narrowness > b[i].narrowness ? std::pair(-1, &a[i]) : std::pair(1, &b[i]);
    }
  }
  return {0, nullptr};
}

}  // namespace

Ordering compare(const CompiledPolicy& a, const CompiledPolicy& b) {
  if (a.level != b.level) return {a.level < b.level, Criterion::level};
  if (a.level == kRouteLevel && a.names_method != b.names_method) return {a.names_method, Criterion::method};
  if (a.priority != b.priority) return {a.priority > b.priority, Criterion::priority};
  if (a.scope.size() != b.scope.size()) return {a.scope.size() > b.scope.size(), Criterion::dimensions};
  if (auto [order, term] = compare_narrowness(a.scope, b.scope); order != 0) {
    return {order < 0, Criterion::narrowness, term};
  }
  if (a.rulebook.version != b.rulebook.version) return {a.rulebook.version > b.rulebook.version, Criterion::version};
  return {a.id() < b.id(), Criterion::id};
}

}  // namespace sluice::policy
