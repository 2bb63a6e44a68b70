#include "common/policy/precedence.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/policy/levels.hpp"

namespace sluice::policy {
namespace {

// Compares term by term. At the first difference, the term whose dimension sorts first precedes; if the dimensions are
// equal, the narrower term precedes. Returns -1 and the term of `a` if that precedes, 1 and the term of `b` if that
// precedes, or 0 and nullptr. REQUIRES: a.size() == b.size().
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

// Packs criteria into the sort key. If a criterion does not fit into its bits, the caller calls close(). Then the
// remaining bits stay 0, so that no later criterion decides before it.
class OrderBits {
 public:
  void put(unsigned bits, std::uint64_t value) {
    left_ -= bits;
    if (!closed_) order_ |= value << left_;
  }
  void close() { closed_ = true; }
  std::uint64_t take() const { return order_; }

 private:
  unsigned left_ = 64;
  std::uint64_t order_ = 0;
  bool closed_ = false;
};

}  // namespace

std::uint64_t order_of(const CompiledPolicy& policy) {
  constexpr std::int64_t kPriority = std::numeric_limits<std::int32_t>::max();  // bundles allow ±kPriority
  constexpr std::size_t kDimensions = 63;
  OrderBits order;
  order.put(1, policy.level == kRouteLevel && !policy.names_method ? 1 : 0);
  const std::int64_t priority = std::clamp(policy.priority, -kPriority - 1, kPriority);
  order.put(32, static_cast<std::uint64_t>(kPriority - priority));
  if (priority != policy.priority) order.close();
  order.put(6, kDimensions - std::min(policy.scope.size(), kDimensions));
  if (policy.scope.empty() || policy.scope.size() >= kDimensions) return order.take();
  const Term& first = policy.scope.front();
  const auto level = static_cast<unsigned>(level_of(first.dimension.dimension));
  order.put(9, level << 5U | static_cast<unsigned>(first.dimension.dimension));
  if (!first.dimension.name.empty()) order.close();  // dimension names are compared before narrowness
  order.put(16, static_cast<std::uint64_t>(kExact - first.narrowness) >> kNarrownessShift);
  return order.take();
}

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
