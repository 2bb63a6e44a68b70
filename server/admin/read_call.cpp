#include "server/admin/read_call.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/http/media_type.hpp"
#include "common/http/query.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMaxIdempotencyKey = 255;

bool is_json(std::string_view type, std::string_view method) {
  return type.empty() || type == "application/json" || (method == "PATCH" && type == "application/merge-patch+json");
}

// The media type of RFC 9512, and its older names.
bool is_yaml(std::string_view type) {
  return type == "application/yaml" || type == "application/x-yaml" || type == "text/yaml" || type == "text/x-yaml";
}

bool is_text(std::string_view type) { return type == "text/plain" || type == "application/json" || is_yaml(type); }

// `list`: names with commas between them.
bool is_among(std::string_view name, std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// A caller that sends ?dry_run= has probably lost the value, so an empty value of these parameters is refused.
constexpr std::string_view kNeverEmpty =
    "limit,mode,enabled,kind,include,format,since,until,dry_run,prune,status,wait,by,revision,only";

void read_query(std::string_view query, Call& call) {
  auto parameters = sluice::http::parse_query(query);
  if (!parameters) throw http::Refusal(400, "invalid", parameters.error().text);
  Faults faults;
  for (auto& [name, value] : *parameters) {
    const std::string pointer = "?" + name;
    if (!is_among(name, call.route->parameters)) {
      faults.push_back(
          {pointer, call.route->parameters.empty()
                        ? fmt::format("this route has no query parameters; got {}", quoted(name))
                        : fmt::format("there is no parameter {}; there are {}", quoted(name), call.route->parameters)});
    } else if (std::ranges::find(call.query, name, &std::pair<std::string, std::string>::first) != call.query.end()) {
      faults.push_back({pointer, "is given more than once"});
    } else if (value.empty() && is_among(name, kNeverEmpty)) {
      faults.push_back({pointer, fmt::format("{} is empty: give it a value, or leave it out", name)});
    } else {
      call.query.emplace_back(std::move(name), std::move(value));
    }
  }
  if (!faults.empty()) http::refuse_faults(400, std::move(faults));
}

void check_idempotency_key(const Call& call) {
  const std::string& key = call.idempotency_key;
  if (call.route->answered_by_agent && !key.empty()) {
    http::refuse_fault(400, "Idempotency-Key",
                       "a check of the playground is made anew with each call; leave Idempotency-Key out");
  }
  const bool good =
      key.size() <= kMaxIdempotencyKey && std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
  if (!good) {
    http::refuse_fault(
        400, "Idempotency-Key",
        fmt::format("a key is 1 to {} visible ASCII characters, such as a random UUID", kMaxIdempotencyKey));
  }
}

// Says where the path is, if another listener or an agent has it.
std::string unknown_path(std::string_view path) {
  if (path == "/metrics") return "Metrics are not on the listener of the API: get /metrics at the address of --admin.";
  if (path == "/livez" || path == "/readyz") {
    return fmt::format("Probes are not on the listener of the API: get {} at the address of --admin.", path);
  }
  for (const std::string_view of_agent :
       {"/v1/check", "/v1/authz", "/v1/release", "/v1/renew", "/v1/snapshot", "/json"}) {
    if (!path.starts_with(of_agent)) continue;
    return fmt::format(
        "This is the server, which has the admin API. {} is of an agent: ask the agent beside your program, "
        "at the address of its --listen, by default port 8088.",
        path);
  }
  return "There is no such path; /openapi.json lists all of them.";
}

// `also`: what else a body may be, and the type to name.
[[noreturn]] void refuse_type(std::string_view type, std::string_view also) {
  throw http::Refusal(
      415, "unsupported-media-type",
      fmt::format("Bodies are JSON{}; got the content type {}. With curl, add -H 'Content-Type: application/json'.",
                  also, quoted(type)));
}

// A call with an Authorization header is its token's, whatever cookies it has.
void read_session(const sluice::http::Request& request, const sessions::Site& site, Call& call) {
  call.secure_cookie = site.secure;
  if (!call.authorization.empty()) return;
  call.session = sessions::find_session(request.header("cookie"), site.secure);
  if (call.session.empty()) return;
  const sessions::BrowserHeaders headers{.fetch_site = request.header("sec-fetch-site"),
                                         .origin = request.header("origin"),
                                         .host = request.header("host"),
                                         .csrf_token = request.header("x-csrf-token")};
  if (auto refusal = sessions::request_fault(call.session, headers, site, request.method == "GET")) {
    throw http::Refusal(*std::move(refusal));
  }
}

}  // namespace

void read_call(const sluice::http::Request& request, const sessions::Site& site, RouteMatch found, Call& call) {
  if (found.allow.empty()) throw http::Refusal(404, "not-found", unknown_path(request.path));
  if (found.route == nullptr) {
    throw http::Refusal(405, "method-not-allowed", fmt::format("This path accepts only {}.", found.allow), {},
                        fmt::format("Allow: {}\r\n", found.allow));
  }
  call.route = found.route;
  call.path_values = std::move(found.path_values);
  read_query(request.query, call);
  http::refuse_coded_body(request);
  const std::string type = sluice::http::media_type(request.content_type);
  call.yaml = call.route->takes_yaml && is_yaml(type);
  if (call.route->takes_text) {
    if (!request.body.empty() && !is_text(type)) refuse_type(type, " or text: content-type: text/plain");
  } else if (!request.body.empty() && !call.yaml && !is_json(type, request.method)) {
    refuse_type(type, call.route->takes_yaml ? " or YAML: content-type: application/json or application/yaml"
                                             : ": content-type: application/json");
  }
  call.target = request.target;
  call.body.assign(request.body.data(), request.body.size());
  call.authorization = request.header("authorization");
  read_session(request, site, call);
  call.has_api_key = !request.header("x-api-key").empty();
  call.if_match = request.header("if-match");
  call.if_none_match = request.header("if-none-match");
  call.idempotency_key = request.header("idempotency-key");
  call.last_event_id = request.header("last-event-id");
  check_idempotency_key(call);
}

}  // namespace sluice::server::admin
