#include "server/admin/route_match.hpp"

#include <algorithm>
#include <utility>

#include "common/http/query.hpp"

namespace sluice::server::admin {
namespace {

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return parts;
}

bool is_variable(std::string_view segment) { return segment.starts_with('{'); }

// Sets `values` to the decoded values of the path's variables.
bool matches(const Route& route, const std::vector<std::string_view>& path, std::vector<std::string>& values) {
  const std::vector<std::string_view> wanted = segments(route.path);
  if (wanted.size() != path.size()) return false;
  values.clear();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!is_variable(wanted[i])) {
      if (wanted[i] != path[i]) return false;
      continue;
    }
    auto value = sluice::http::decode_segment(path[i]);
    if (!value || value->empty()) return false;
    values.push_back(std::move(*value));
  }
  return true;
}

}  // namespace

RouteMatch find_route(std::string_view method, std::string_view path) {
  RouteMatch found;
  if (!path.starts_with('/')) return found;
  const std::vector<std::string_view> parts = segments(path);
  std::vector<std::string> values;
  // A route without variables wins: "clear" in /overrides/clear is not an id.
  for (const bool literal : {true, false}) {
    for (const Route& route : routes()) {
      if (!matches(route, parts, values) || values.empty() != literal) continue;
      found.allow.append(found.allow.empty() ? "" : ", ").append(route.method);
      if (route.method != method) continue;
      found.route = &route;
      found.path_values = values;
    }
    if (!found.allow.empty()) break;
  }
  return found;
}

}  // namespace sluice::server::admin
