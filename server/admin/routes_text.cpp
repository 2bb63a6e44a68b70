#include "server/admin/routes_text.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "server/admin/routes.hpp"

namespace sluice::server::admin {

std::string describe_routes() {
  std::size_t width = 0;
  for (const Route& route : routes()) width = std::max(width, route.path.size());
  std::string text;
  for (const Route& route : routes()) {
    if (route.open) continue;  // no role matters
    text += fmt::format("{:<7} {:<{}} {:<11} {:<12} {}\n", route.method, route.path, width, to_string(route.permission),
                        to_string(route.level), auth::roles_with(route.permission));
  }
  return text;
}

}  // namespace sluice::server::admin
