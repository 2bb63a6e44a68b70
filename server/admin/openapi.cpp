#include "server/admin/openapi.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/objects/field_tables.hpp"
#include "common/openapi/description.hpp"
#include "server/admin/embedded.hpp"
#include "server/admin/routes.hpp"
#include "server/auth/group_mapping.hpp"
#include "server/auth/token_document.hpp"
#include "server/identity/binding.hpp"
#include "server/webhooks/webhook.hpp"

namespace sluice::server::admin {
namespace {

// Paths that need no token.
constexpr std::array<std::string_view, 4> kOpenPaths{"/v1/health", "/openapi.json", "/docs", "/problems/{name}"};

// Problems of every operation: the status, and the name of the response in openapi.json.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kCommonProblems{{{"400", "BadRequest"},
                                                                                        {"405", "MethodNotAllowed"},
                                                                                        {"408", "Timeout"},
                                                                                        {"413", "TooLarge"},
                                                                                        {"431", "HeadersTooLarge"},
                                                                                        {"500", "InternalError"}}};

openapi::Operation open_operation(std::string_view path) {
  return {.method = "GET",
          .path = path,
          .open = true,
          .head = true,
          .successes = {{"200", {"The answer.", {}}}},
          .problems = {kCommonProblems.begin(), kCommonProblems.end()}};
}

// The routes of policy sync, which server/sync answers.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAgentRoutes{{{"GET", "/v1/sync/snapshot"},
                                                                                     {"GET", "/v1/sync/watch"},
                                                                                     {"POST", "/v1/sync/report"},
                                                                                     {"GET", "/v1/sync/counters"},
                                                                                     {"POST", "/v1/sync/whatif"}}};

// The routes about signing in, which server/oidc answers.
constexpr std::array<std::string_view, 3> kSignInPaths{"/v1/console/sign-in", "/v1/console/oidc/start",
                                                       "/v1/console/oidc/callback"};

openapi::Operation sign_in_operation(std::string_view path) {
  return {.method = "GET",
          .path = path,
          .open = true,
          .head = path == kSignInPaths.front(),
          .parameters = {"RequestId"},
          .successes = {{"200", {"The answer.", {"X-Request-Id"}}}, {"303", {"Elsewhere.", {"X-Request-Id"}}}},
          .problems = {kCommonProblems.begin(), kCommonProblems.end()}};
}

openapi::Operation agent_operation(std::string_view method, std::string_view path) {
  openapi::Operation operation{.method = method,
                               .path = path,
                               .credential = "agentToken",
                               .needs = "Needs an agent token, or in Kubernetes the token of a bound service account.",
                               .parameters = {"RequestId"},
                               .successes = {{"200", {"The answer.", {"X-Request-Id"}}},
                                             {"204", {"Taken.", {"X-Request-Id"}}},
                                             {"304", {"Unchanged.", {"X-Request-Id"}}}},
                               .problems = {kCommonProblems.begin(), kCommonProblems.end()}};
  operation.problems.insert({{"401", "Unauthorized"}, {"429", "TooManyFailures"}, {"503", "Unavailable"}});
  if (method == "POST") operation.media = {"application/json"};
  return operation;
}

std::string needs(const Route& route) {
  const std::string roles = auth::roles_with(route.permission);
  std::string_view scope;
  if (route.level == auth::Level::organization) scope = " and a scope of the whole organization";
  if (route.level == auth::Level::platform) scope = " and the scope of the whole platform";
  return fmt::format("Needs the permission {} ({}){}.", to_string(route.permission),
                     roles == auth::kRoleNames ? "every role" : roles, scope);
}

class OperationBuilder {
 public:
  OperationBuilder(const openapi::Description& description, const Route& route)
      : route_(route),
        creates_(description.answers(route.method, route.path, "201")),
        reads_one_(description.answers(route.method, route.path, "304")),
        writes_one_(route.method == "PUT" || route.method == "PATCH" || route.method == "DELETE" ||
                    description.answers(route.method, route.path, "412")) {}

  openapi::Operation operation() const {
    return {.method = route_.method,
            .path = route_.path,
            .open = route_.open,
            .needs = route_.open ? "Needs no token, and works only with --playground." : needs(route_),
            .extensions = extensions(),
            .parameters = parameters(),
            .media = media(),
            .successes = successes(),
            .problems = problems()};
  }

 private:
  bool has_variable() const { return route_.path.find('{') != std::string_view::npos; }
  bool takes(std::string_view parameter) const { return route_.parameters.find(parameter) != std::string_view::npos; }
  bool is(std::string_view method) const { return route_.method == method; }
  bool reads_body() const { return route_.changes() && !is("DELETE"); }

  std::map<std::string_view, std::string> extensions() const {
    if (route_.open) return {};
    return {{"x-permission", std::string(to_string(route_.permission))},
            {"x-level", std::string(to_string(route_.level))}};
  }

  std::vector<std::string_view> parameters() const {
    std::vector<std::string_view> names;
    if (takes("cursor")) names.insert(names.end(), {"Limit", "Cursor"});
    if (writes_one_) names.push_back("IfMatch");
    if (reads_one_) names.push_back("IfNoneMatch");
    if (is("PUT") && creates_) names.push_back("IfAbsent");
    if (route_.takes_idempotency_key()) names.push_back("IdempotencyKey");
    names.push_back("RequestId");
    return names;
  }

  std::vector<std::string_view> media() const {
    if (!reads_body()) return {};
    if (is("PATCH")) return {"application/merge-patch+json", "application/json"};
    if (route_.takes_text) return {"text/plain", "application/yaml", "application/json"};
    if (route_.takes_yaml) return {"application/json", "application/yaml"};
    return {"application/json"};
  }

  std::map<std::string_view, openapi::Success> successes() const {
    std::vector<std::string_view> headers{"X-Request-Id"};
    const bool one_object = creates_ || reads_one_ || writes_one_;
    if (one_object && !is("DELETE")) headers.push_back("ETag");
    if (route_.changes() && route_.permission != auth::Permission::read) headers.push_back("Sluice-Revision");
    if (route_.takes_idempotency_key()) headers.push_back("Idempotency-Replayed");
    std::vector<std::string_view> created = headers;
    created.push_back("Location");
    std::string_view done = takes("cursor") ? "A page." : "The present state.";
    if (is("PUT")) done = "Replaced, or unchanged because it was the same.";
    if (is("PATCH")) done = "Changed, or unchanged because it was the same.";
    return {{"200", {done, headers}},
            {"201", {"Created.", created}},
            {"204", {"Deleted.", headers}},
            {"304", {"Unchanged: the version is the one that If-None-Match names.", {"X-Request-Id", "ETag"}}}};
  }

  std::map<std::string_view, std::string_view> problems() const {
    std::map<std::string_view, std::string_view> names(kCommonProblems.begin(), kCommonProblems.end());
    names.insert({{"401", "Unauthorized"},
                  {"403", "Forbidden"},
                  {"415", "UnsupportedMediaType"},
                  {"429", "TooManyFailures"},
                  {"503", "Unavailable"}});
    if (route_.open) names.erase("401");
    if (has_variable() && !is("PUT")) names.emplace("404", "NotFound");
    if (route_.changes()) names.insert({{"409", "ConcurrentChange"}, {"422", "Unprocessable"}});
    if (!route_.changes() && has_variable() && takes("tenant_id")) names.emplace("422", "TenantMissing");
    if (reads_body()) names.emplace("411", "LengthRequired");
    if (writes_one_) names.emplace("412", "PreconditionFailed");
    return names;
  }

  const Route& route_;
  const bool creates_;
  const bool reads_one_;
  const bool writes_one_;
};

std::string assemble() {
  std::vector<json::FieldTable> tables(field_tables().begin(), field_tables().end());
  tables.insert(tables.end(), {{"agent-token", auth::token_field::kAll},
                               {"token", auth::token_field::kOfAdmin},
                               {"binding", identity::binding_field::kAll},
                               {"group-mapping", auth::group_mapping_field::kAll},
                               {"webhook", webhooks::webhook_field::kAll}});
  std::vector<std::string_view> fragments;
  for (const embedded::File& file : embedded::kFiles) {
    if (file.name != "openapi") fragments.push_back(file.text);
  }
  openapi::Description description(embedded::openapi, fragments, tables);
  for (const Route& route : routes()) description.add(OperationBuilder(description, route).operation());
  for (const auto& [method, path] : kAgentRoutes) description.add(agent_operation(method, path));
  for (const std::string_view path : kSignInPaths) description.add(sign_in_operation(path));
  for (const std::string_view path : kOpenPaths) description.add(open_operation(path));
  return description.text();
}

}  // namespace

std::string_view openapi_document() {
  static const std::string text = assemble();
  return text;
}

}  // namespace sluice::server::admin
