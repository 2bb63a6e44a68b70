#include "tests/integration/server/admin_rig.hpp"

#include <charconv>
#include <stdexcept>

#include <fmt/core.h>

#include "common/http/query.hpp"
#include "common/json/edit.hpp"
#include "server/admin/route_match.hpp"
#include "server/auth/bootstrap.hpp"
#include "server/postgres/migrations.hpp"

namespace sluice::server::test {
namespace {

// The database that all others are copies of: with the schema, and nothing in it.
const std::string& template_database() {
  static const std::string name = [] {
    PostgresServer& server = PostgresServer::shared();
    std::string made = server.create_database();
    const auto migrated = postgres::migrate({.owner_url = server.url("sluice_owner", made), .app_role = "sluice_app"});
    if (!migrated) throw std::runtime_error(migrated.error().text);
    return made;
  }();
  return name;
}

bool is_among(std::string_view name, std::string_view list) {
  return fmt::format(",{},", list).find(fmt::format(",{},", name)) != std::string::npos;
}

admin::Call make_call(std::string_view method, std::string_view target) {
  const std::size_t question = std::min(target.find('?'), target.size());
  admin::RouteMatch found = admin::find_route(method, target.substr(0, question));
  if (found.route == nullptr) throw std::logic_error(fmt::format("there is no route {} {}", method, target));
  static http::RequestMemory memory(1UL << 30);
  admin::Call call;
  call.memory = memory.share();
  call.route = found.route;
  call.path_values = std::move(found.path_values);
  call.target = target;
  if (question == target.size()) return call;
  const auto parameters = sluice::http::parse_query(target.substr(question + 1));
  if (!parameters) throw std::logic_error(parameters.error().text);
  for (const auto& [name, value] : *parameters) {
    if (!is_among(name, call.route->parameters)) throw std::logic_error(fmt::format("{} takes no {}", target, name));
    call.query.emplace_back(name, value);
  }
  return call;
}

std::string value_of(const Headers& headers, const std::string& name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::string text_of(const json::Value* value) {
  if (value == nullptr) return "(absent)";
  if (value->type() == json::Type::string) return std::string(value->text());
  std::string text;
  json::append(text, *value);
  return text;
}

// One step of a JSON pointer. (No name here holds a '/' or a '~'.)
const json::Value* step(const json::Value& value, std::string_view token) {
  if (value.type() != json::Type::array) return value.find(token);
  std::size_t index = 0;
  const bool number = std::from_chars(token.data(), token.data() + token.size(), index).ec == std::errc();
  return number && index < value.items().size() ? &value.items()[index] : nullptr;
}

const json::Value* find_at(const json::Value& value, std::string_view pointer) {
  const json::Value* found = &value;
  while (found != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    found = step(*found, pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return found;
}

json::Value parsed(const admin::FinishedAnswer& answer, json::Tree& tree) {
  const auto value = tree.parse(answer.body);
  if (!value) throw std::logic_error("the answer is no JSON: " + answer.body);
  return *value;
}

std::string joined(const admin::FinishedAnswer& answer, std::string_view list, std::string_view name) {
  json::Tree tree;
  const json::Value document = parsed(answer, tree);
  const json::Value* const items = find_at(document, list);
  if (items == nullptr || items->type() != json::Type::array) return "(absent)";
  std::string text;
  for (const json::Value& item : items->items()) {
    text.append(text.empty() ? "" : " ").append(text_of(item.find(name)));
  }
  return text;
}

}  // namespace

AdminRig::AdminRig(std::chrono::milliseconds lock_timeout)
    : database_(template_database()), lock_timeout_(lock_timeout), pool_(database_options(), 1) {
  auto made = auth::bootstrap(database_options(), "first", false, clock);
  if (!made) throw std::runtime_error(made.error().text);
  admin_ = std::move(*made);
}

postgres::DatabaseOptions AdminRig::database_options() const {
  postgres::DatabaseOptions options;
  options.url = database_.url();
  options.connections = 1;
  options.lock_timeout = lock_timeout_;
  return options;
}

admin::FinishedAnswer AdminRig::ask(std::string_view method, std::string_view target, std::string_view body,
                                    const Headers& headers) {
  return ask_as(admin_, method, target, body, headers);
}

admin::FinishedAnswer AdminRig::ask_as(std::string_view token, std::string_view method, std::string_view target,
                                       std::string_view body, const Headers& headers) {
  admin::CallProgress progress;
  progress.begin();
  return run(progress, token, method, target, body, headers);
}

admin::FinishedAnswer AdminRig::ask_until(admin::CallProgress& progress, std::string_view method,
                                          std::string_view target, std::string_view body) {
  return run(progress, admin_, method, target, body, {});
}

admin::FinishedAnswer AdminRig::run(admin::CallProgress& progress, std::string_view token, std::string_view method,
                                    std::string_view target, std::string_view body, const Headers& headers) {
  admin::Call call = make_call(method, target);
  call.authorization = fmt::format("Bearer {}", token);
  call.yaml = call.route->takes_yaml && value_of(headers, "content-type") == "application/yaml";
  call.if_match = value_of(headers, "if-match");
  call.if_none_match = value_of(headers, "if-none-match");
  call.idempotency_key = value_of(headers, "idempotency-key");
  return run_call(progress, call, body);
}

admin::FinishedAnswer AdminRig::ask_by_session(std::string_view secret, std::string_view method,
                                               std::string_view target, std::string_view body) {
  admin::CallProgress progress;
  progress.begin();
  admin::Call call = make_call(method, target);
  call.session = {.secret = std::string(secret), .hash = sessions::hash_of(secret)};
  return run_call(progress, call, body);
}

admin::FinishedAnswer AdminRig::run_call(admin::CallProgress& progress, admin::Call& call, std::string_view body) {
  call.body = body;
  call.body_bytes = body.size();
  call.source = "192.0.2.1";
  call.request_id = fmt::format("test-{}", ++calls_);
  return executor_.run(session_, call, progress);
}

std::string AdminRig::token(std::string_view role, std::string_view scope) {
  const admin::FinishedAnswer made =
      ask("POST", "/v1/admin/tokens",
          fmt::format(R"({{"name":"{}","role":"{}"{}{}}})", role, role, scope.empty() ? "" : ",", scope));
  if (made.status != 201) throw std::runtime_error(made.body);
  return at(made, "/token");
}

void AdminRig::found_acme() {
  const auto make = [this](std::string_view target, std::string_view body) {
    const admin::FinishedAnswer made = ask("POST", target, body);
    if (made.status != 201) throw std::runtime_error(made.body);
  };
  make("/v1/admin/organizations", R"({"id":"acme","name":"Acme"})");
  make("/v1/admin/organizations", R"({"id":"other"})");
  make("/v1/admin/tenants", R"({"id":"shop","organization_id":"acme"})");
  make("/v1/admin/tenants", R"({"id":"bank","organization_id":"acme"})");
  make("/v1/admin/tenants", R"({"id":"kiosk","organization_id":"other"})");
}

std::string at(const admin::FinishedAnswer& answer, std::string_view pointer) {
  json::Tree tree;
  return text_of(find_at(parsed(answer, tree), pointer));
}

std::string faulty(const admin::FinishedAnswer& answer) { return joined(answer, "/errors", "pointer"); }

std::string each(const admin::FinishedAnswer& answer, std::string_view member) {
  return joined(answer, "/items", member);
}

std::string header(const admin::FinishedAnswer& answer, std::string_view name) {
  const std::string begin = fmt::format("\r\n{}: ", name);
  const std::string lines = "\r\n" + answer.headers;
  const std::size_t found = lines.find(begin);
  if (found == std::string::npos) return {};
  const std::size_t value = found + begin.size();
  return lines.substr(value, lines.find("\r\n", value) - value);
}

}  // namespace sluice::server::test
