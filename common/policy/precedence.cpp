#include "common/policy/precedence.hpp"

#include <algorithm>
#include <tuple>

namespace sluice::policy {
namespace {

constexpr int kRoute = 2;  // endpoint, resource

bool names_method(const Policy& policy) {
  return std::ranges::any_of(policy.scope,
                             [](const ScopeTerm& t) { return t.dimension.dimension == Dimension::method; });
}

}  // namespace

int level_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::user:
    case Dimension::subject:
      return 0;
    case Dimension::api_key:
    case Dimension::client:
    case Dimension::client_id:
      return 1;
    case Dimension::endpoint:
    case Dimension::resource:
      return kRoute;
    case Dimension::operation:
      return 3;
    case Dimension::service:
      return 4;
    case Dimension::application:
      return 5;
    case Dimension::tenant:
      return 6;
    case Dimension::org:
      return 7;
    case Dimension::signal:
      return 8;
    default:
      return kLevels;
  }
}

int level_of(const Policy& policy) {
  int level = kLevels - 1;  // global
  for (const ScopeTerm& term : policy.scope) level = std::min(level, level_of(term.dimension.dimension));
  return level;
}

bool outranks(const Policy& a, const Policy& b) {
  auto rank = [](const Policy& policy) {
    int level = level_of(policy);
    bool plain_route = level == kRoute && !names_method(policy);
    return std::tuple(level, plain_route, -policy.priority, -static_cast<std::int64_t>(policy.scope.size()),
                      -policy.version);
  };
  auto ra = rank(a), rb = rank(b);
  return ra != rb ? ra < rb : a.id < b.id;
}

}  // namespace sluice::policy
