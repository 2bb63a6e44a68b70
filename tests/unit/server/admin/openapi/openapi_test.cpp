#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/version.hpp"
#include "server/admin/routes.hpp"
#include "server/sync/request.hpp"
#include "tests/unit/server/admin/openapi/document.hpp"

using namespace sluice;
using namespace sluice::server;

namespace {

const Names kOpen{"/openapi.json", "/docs", "/v1/health", "/problems/{name}", "/v1/console/sign-in"};
const Names kOpenWithoutHead{"/v1/console/oidc/start", "/v1/console/oidc/callback"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

std::string_view level_name(auth::Level level) {
  switch (level) {
    case auth::Level::tenant:
      return "tenant";
    case auth::Level::organization:
      return "organization";
    case auth::Level::platform:
      return "platform";
  }
  return "";
}

void split_into(Names& names, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    names.insert("query " + std::string(list.substr(0, end)));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

void add_variables(Names& names, std::string_view path) {
  for (std::size_t begin = path.find('{'); begin != std::string_view::npos; begin = path.find('{', begin + 1)) {
    names.insert("path " + std::string(path.substr(begin + 1, path.find('}', begin) - begin - 1)));
  }
}

bool has_variable(const admin::Route& route) { return route.path.find('{') != std::string_view::npos; }

// What a route reads, as "query limit" and the like. That a route minds conditions shows in its answers.
Names parameters_of(const admin::Route& route, const Names& answers) {
  Names names{"header X-Request-Id"};
  split_into(names, route.parameters);
  add_variables(names, route.path);
  if (route.takes_idempotency_key()) names.insert("header Idempotency-Key");
  if (answers.contains("412")) names.insert("header If-Match");
  if (route.path.ends_with("/events")) names.insert("header Last-Event-ID");
  const bool creates = route.method == "PUT" && answers.contains("201");
  if (answers.contains("304") || creates) names.insert("header If-None-Match");
  return names;
}

// The statuses that belong to every route, and to what kind of route it is.
Names statuses_of(const admin::Route& route) {
  Names statuses{"400", "403", "405", "408", "413", "415", "429", "431", "500", "503"};
  if (!route.open) statuses.insert("401");
  if (has_variable(route) && route.method != "PUT") statuses.insert("404");
  if (route.changes()) statuses.insert({"409", "422"});
  if (route.changes() && route.method != "DELETE") statuses.insert("411");
  if (route.method == "PUT" || route.method == "PATCH" || route.method == "DELETE") statuses.insert("412");
  return statuses;
}

// Every value of the document, with what names it.
template <class Visit>
void walk(const json::Value& value, std::string_view name, Visit visit) {
  visit(name, value);
  if (value.type() == json::Type::array) {
    for (const json::Value& item : value.items()) walk(item, "", visit);
  } else if (value.type() == json::Type::object) {
    for (const json::Member& entry : value.members()) {
      CAPTURE(entry.name);
      CHECK_FALSE(entry.duplicate);
      walk(entry.value, entry.name, visit);
    }
  }
}

template <class Visit>
void each_operation(const Document& document, Visit visit) {
  for (const json::Member& path : document.get({"paths"}).members()) {
    for (const json::Member& operation : path.value.members()) visit(path.name, operation.name, operation.value);
  }
}

const json::Value& operation_of(const Document& document, const admin::Route& route) {
  return document.get({"paths", std::string(route.path), lower(route.method)});
}

}  // namespace

TEST_CASE("The served description is OpenAPI 3.1 of this version") {
  const Document document;
  CHECK(document.get({"openapi"}).text() == "3.1.0");
  CHECK(document.get({"info", "version"}).text() == version());
}

TEST_CASE("Every route is described, and nothing is described that is neither a route nor open to anybody") {
  const Document document;
  Names served;
  for (const admin::Route& route : admin::routes()) served.insert(lower(route.method) + " " + std::string(route.path));
  for (const std::string& path : kOpen) served.insert({"get " + path, "head " + path});
  for (const std::string& path : kOpenWithoutHead) served.insert("get " + path);
  for (const std::string_view route : server::sync::kRouteNames) {
    const std::size_t space = route.find(' ');
    served.insert(lower(route.substr(0, space)) + std::string(route.substr(space)));
  }
  Names described;
  each_operation(document, [&](std::string_view path, std::string_view method, const json::Value&) {
    described.insert(std::string(method) + " " + std::string(path));
  });
  CHECK(described == served);
}

TEST_CASE("An operation has the parameters that its route reads, and no other") {
  const Document document;
  for (const admin::Route& route : admin::routes()) {
    CAPTURE(route.method);
    CAPTURE(route.path);
    const json::Value& operation = operation_of(document, route);
    Names described;
    for (const json::Value& item : Document::get(operation, {"parameters"}).items()) {
      const json::Value& parameter = document.resolve(item);
      described.insert(std::string(parameter.text_of("in")) + " " + std::string(parameter.text_of("name")));
      CHECK_FALSE(parameter.text_of("description").empty());
    }
    CHECK(described == parameters_of(route, names_of(Document::get(operation, {"responses"}))));
  }
}

TEST_CASE("An operation says which permission and scope its route asks for") {
  const Document document;
  for (const admin::Route& route : admin::routes()) {
    CAPTURE(route.method);
    CAPTURE(route.path);
    const json::Value& operation = operation_of(document, route);
    if (route.open) {
      CHECK(Document::get(operation, {"security"}).items().empty());
      CHECK(operation.find("x-permission") == nullptr);
      continue;
    }
    CHECK(operation.text_of("x-permission") == to_string(route.permission));
    CHECK(operation.text_of("x-level") == level_name(route.level));
    const std::string needs = "Needs the permission " + std::string(to_string(route.permission)) + " (";
    const std::string text(operation.text_of("description"));
    CHECK(text.find(needs) != std::string::npos);
    const std::string roles = auth::roles_with(route.permission);
    const bool all = roles == auth::kRoleNames;
    CHECK(text.find(needs + (all ? "every role" : roles) + ")") != std::string::npos);
    CHECK(operation.find("security") == nullptr);  // the document's own: a token
  }
  for (const std::string& path : kOpen) CHECK(document.get({"paths", path, "get", "security"}).items().empty());
}

TEST_CASE("An operation documents every status it can answer, each with its problem") {
  const Document document;
  for (const admin::Route& route : admin::routes()) {
    CAPTURE(route.method);
    CAPTURE(route.path);
    const json::Value& answers = Document::get(operation_of(document, route), {"responses"});
    const Names described = names_of(answers);
    for (const std::string& status : statuses_of(route)) {
      CAPTURE(status);
      CHECK(described.contains(status));
    }
    CHECK((described.contains("200") || described.contains("201") || described.contains("204")));
    for (const json::Member& answer : answers.members()) {
      CAPTURE(answer.name);
      const json::Value& response = document.resolve(answer.value);
      CHECK_FALSE(response.text_of("description").empty());
      if (answer.name < "400") continue;
      CHECK(Document::get(response, {"content", "application/problem+json", "schema"}).text_of("$ref") ==
            "#/components/schemas/Problem");
      CHECK(Document::get(response, {"content", "application/problem+json", "example", "status"}).text() ==
            answer.name);
    }
  }
}

// A body of this may be left out.
constexpr std::string_view kNoMembers = "#/components/schemas/NoMembers";

TEST_CASE("An operation that reads a body shows what one looks like") {
  const Document document;
  for (const admin::Route& route : admin::routes()) {
    const bool reads = route.changes() && route.method != "DELETE";
    CAPTURE(route.method);
    CAPTURE(route.path);
    const json::Value* const body = operation_of(document, route).find("requestBody");
    CHECK((body != nullptr) == reads);
    if (body == nullptr) continue;
    const json::Value& content = Document::get(*body, {"content"});
    const bool has_members = Document::get(content, {"application/json", "schema"}).text_of("$ref") != kNoMembers;
    CHECK(Document::get(*body, {"required"}).boolean() == has_members);
    Names types{"application/json"};
    if (route.method == "PATCH") types.insert("application/merge-patch+json");
    if (route.takes_yaml || route.takes_text) types.insert("application/yaml");
    if (route.takes_text) types.insert("text/plain");
    CHECK(names_of(content) == types);
    for (const json::Member& type : content.members()) {
      const bool is_object = type.name != "application/yaml" && !route.takes_text;
      if (is_object) CHECK_FALSE(Document::get(type.value, {"schema"}).text_of("$ref").empty());
      CHECK_FALSE(Document::get(type.value, {"examples"}).members().empty());
    }
  }
}

TEST_CASE("Every reference of the description leads somewhere, and every component is referred to") {
  const Document document;
  Names used;
  walk(document.root(), "", [&](std::string_view name, const json::Value& value) {
    if (name == "$ref") used.insert(std::string(value.text()));
  });
  for (const std::string& reference : used) {
    CAPTURE(reference);
    CHECK(document.find(Document::steps(reference)) != nullptr);
  }
  for (const json::Member& part : document.get({"components"}).members()) {
    if (part.name == "securitySchemes") continue;
    for (const std::string& name : names_of(part.value)) {
      const std::string reference = "#/components/" + std::string(part.name) + "/" + name;
      CAPTURE(reference);
      CHECK(used.contains(reference));
    }
  }
}

TEST_CASE("Operations have ids of their own, a tag that is explained, and links that lead to operations") {
  const Document document;
  Names tags;
  for (const json::Value& tag : document.get({"tags"}).items()) tags.insert(std::string(tag.text_of("name")));
  Names ids;
  Names used_tags;
  each_operation(document, [&](std::string_view path, std::string_view method, const json::Value& operation) {
    CAPTURE(path);
    CAPTURE(method);
    CHECK(ids.insert(std::string(operation.text_of("operationId"))).second);
    CHECK_FALSE(operation.text_of("summary").empty());
    for (const std::string& tag : texts_of(Document::get(operation, {"tags"}))) {
      CHECK(tags.contains(tag));
      used_tags.insert(tag);
    }
  });
  CHECK(used_tags == tags);
  for (const json::Member& link : document.get({"components", "links"}).members()) {
    CAPTURE(link.name);
    CHECK(ids.contains(std::string(link.value.text_of("operationId"))));
  }
}
