#include "agent/api/check_api.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "agent/api/check_problems.hpp"
#include "agent/api/lease_request.hpp"
#include "agent/api/openapi.hpp"
#include "agent/api/refusals.hpp"
#include "agent/api/routes.hpp"
#include "common/base/text.hpp"
#include "common/domain/check_batch.hpp"
#include "common/domain/check_fields.hpp"
#include "common/http/media_type.hpp"
#include "common/http/problem_table.hpp"
#include "common/http/query.hpp"
#include "common/http/request_id.hpp"
#include "common/json/text.hpp"
#include "common/tracing/attribute_names.hpp"

namespace sluice::agent::api {
namespace {

constexpr std::size_t kNoRoute = std::size(kRoutes);

std::size_t index_of(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(kRoutes, path, &Route::path) - kRoutes.begin());
}

std::size_t route_of(std::string_view path) {
  const std::size_t route = index_of(path);
  if (route != kNoRoute) return route;
  if (path.starts_with(kAuthzPrefix)) return index_of(kAuthzRoute);
  return path.starts_with(http::kProblemPath) ? index_of(kProblemRoute) : kNoRoute;
}

// Callers without a content type are understood, and so is the type that curl sends with -d unless it is told another.
bool is_json(const http::Request& request) {
  if (request.body.empty()) return true;
  if (!request.content_encoding.empty() && !http::is_uncoded(request.content_encoding)) return false;
  if (request.content_type.empty() || request.content_type == "application/json") return true;
  const std::string type = http::media_type(request.content_type);
  return type == "application/json" || type.ends_with("+json") || type == "application/x-www-form-urlencoded";
}

// Clients of the rate limit service of Envoy keep what they send.
bool takes_no_query(const Route& route) { return route.has_body() && route.path != kRateLimitPath; }

// REQUIRES: !is_json(request).
void send_unsupported(RouteReply& reply, const http::Request& request) {
  const bool coded = !http::is_uncoded(request.content_encoding);
  const std::string detail =
      coded ? http::coded_body_detail(request.content_encoding)
            : fmt::format("Bodies are JSON: content-type: application/json; got {}.", quoted(request.content_type));
  send_problem(reply, {.status = 415, .type = "/problems/unsupported-media-type", .detail = detail},
               coded ? http::kUncodedOnly : std::string_view());
}

// Routes that read a body have no query parameters. Returns whether it has refused the request.
bool refuse_parameters(RouteReply& reply, std::string_view query) {
  const auto parameters = http::parse_query(query);
  Faults faults;
  if (!parameters) faults.push_back({"?", parameters.error().text});
  for (const http::Parameter& parameter : parameters ? *parameters : http::Parameters()) {
    const bool of_check = find_check_field(parameter.name) != nullptr;
    faults.push_back({"?" + parameter.name,
                      fmt::format("this route has no query parameters; got {}: {}", quoted(parameter.name),
                                  of_check ? "it is a field of a check, so send it in the body" : "leave it out")});
  }
  if (faults.empty()) return false;
  send_problem(reply, {.status = 400,
                       .type = kInvalid,
                       .detail = "The query has parameters that this route does not take.",
                       .errors = faults});
  return true;
}

// The span of a request, below its caller's; empty if it is not sampled.
tracing::ActiveSpan begin_span(tracing::Tracer& tracer, const http::Request& request, std::string_view route) {
  namespace attribute = tracing::attribute;
  constexpr std::array<std::string_view, 7> kMethods{"POST", "GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"};
  auto span = tracer.start_request("HTTP", tracing::SpanKind::server, request.header("traceparent"),
                                   request.header("tracestate"));
  if (!span) return span;
  // A client chooses the method of a request to /v1/authz; unknown ones must not make names of spans.
  const bool known = std::ranges::find(kMethods, request.method) != kMethods.end();
  span->name.assign(known ? std::string_view(request.method) : "HTTP").append(" ").append(route);
  span->set(attribute::kHttpMethod, known ? std::string_view(request.method) : "_OTHER");
  span->set(attribute::kHttpRoute, route);
  span->set(attribute::kUrlPath, request.path);
  if (!request.peer.empty()) span->set(attribute::kNetworkPeerAddress, request.peer);
  return span;
}

// A key in another header than x-api-key is missing for a check. The answer says where it was found, not what it is.
std::string_view key_elsewhere(std::string_view authorization) {
  if (authorization.empty()) return {};
  return authorization.find("slk_") == std::string_view::npos
             ? " The request has the header Authorization, which checks do not read."
             : " The request has an API key in Authorization, which checks do not read: move it to x-api-key.";
}

}  // namespace

// One POST /v1/check, or one sub-request of a proxy.
class CheckApi::Single final : public decide::CheckListener, private http::PeerWatcher {
 public:
  explicit Single(CheckApi& api) : api_(api), check_(api.decider_) {}

  // `read(http, text, request)` fills `request` with views into `text`, and returns the faults.
  template <class Read>
  void start(const http::Request& http, RouteReply reply, decide::InFlight::Place place, decide::Caller caller,
             DecisionForm form, Read read) {
    reply_.emplace(std::move(reply));
    caller_ = std::move(caller);
    form_ = form;
    try {
      read_and_start(http, std::move(place), read);
    } catch (const std::bad_alloc&) {
      api_.decider_.count_overload();
      refuse_without_memory();
    }
  }

  void decided(std::size_t, const Decision& decision) override {
    api_.writer_.send(*reply_, decision, form_);
    return_to_pool();
  }
  void refused(std::size_t, const decide::Refusal& refusal) override {
    if (refusal.kind == decide::Refusal::Kind::out_of_memory) return refuse_without_memory();
    refuse(problem_of(refusal));
  }
  bool wait_begins(std::size_t) override { return reply_->watch_peer(*this); }

 private:
  void on_peer_left() override { check_.abandon(); }

  template <class Read>
  void read_and_start(const http::Request& http, decide::InFlight::Place place, Read read) {
    reply_->keep_request_id(request_id_);
    traceparent_ = http.header("traceparent");
    const std::vector<RequestFault> faults = read(http, text_, request_);
    if (request_.request_id.empty()) request_.request_id = request_id_;
    if (!faults.empty()) {
      place.leave();
      return refuse(problem_of(faults, request_.request_id, {http.body.data(), http.body.size()}));
    }
    if (!caller_.is_of(request_.tenant_id)) {
      place.leave();
      return refuse(problem_of({.kind = decide::Refusal::Kind::other_tenant, .request_id = request_.request_id}));
    }
    check_.start(std::move(place), caller_, caller_.origin(), request_, {traceparent_, &reply_->span()}, *this);
  }

  void refuse(const CheckProblem& problem) {
    send_refusal(*reply_, problem);
    return_to_pool();
  }
  void refuse_without_memory() {
    reply_->send(kOverloadResponse);
    return_to_pool();
  }
  void return_to_pool() {
    reply_.reset();
    caller_ = {};
    api_.singles_.give_back(*this);
  }

  CheckApi& api_;
  std::optional<RouteReply> reply_;
  decide::Caller caller_;
  DecisionForm form_;
  std::string request_id_;  // request_ may point to it
  std::string traceparent_;
  std::string text_;  // request_ points into it, because the connection reuses its buffer before the decision
  CheckRequest request_;
  decide::Check check_;
};

// One release or renewal of a lease. Owns itself until the counter store has answered.
class CheckApi::LeaseChange final : public limiter::LeaseListener {
 public:
  LeaseChange(RouteReply reply, Change change) : reply_(std::move(reply)), change_(change) {
    reply_.keep_request_id(request_id_);
  }

  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& result) override {
    const std::unique_ptr<LeaseChange> self(this);
    try {
      send(result);
    } catch (const std::bad_alloc&) {
      reply_.send(http::kNoMemoryResponse);
    }
  }

  // Called if the store's release() or renew() has thrown.
  void fail_without_memory() {
    reply_.send(http::kNoMemoryResponse);
    delete this;
  }

 private:
  void send(const limiter::StoreResult<limiter::LeaseOutcome>& result) {
    if (!result) {
      return send_problem(reply_,
                          {.status = 503,
                           .type = "/problems/counters-unavailable",
                           .detail = "The counter store does not answer; the lease ends by itself at its expiry."},
                          "Retry-After: 1\r\n");
    }
    if (change_ == Change::release) {
      return send_json(reply_, 200, fmt::format(R"({{"released":{}}})", result->live));
    }
    if (!result->live) return send_json(reply_, 200, R"({"renewed":false})");
    send_json(reply_, 200,
              fmt::format(R"({{"renewed":true,"lease_expires_at":{}}})", result->expires_at_us / 1'000'000));
  }

  RouteReply reply_;
  std::string request_id_;
  Change change_;
};

CheckApi::CheckApi(HeaderFamilies headers, decide::Decider& decider, telemetry::HttpCounters& counters,
                   telemetry::CounterVector& refusals, AuthzOptions authz, tracing::Tracer* tracer)
    : decider_(decider),
      counters_(counters),
      refusals_(refusals),
      writer_(headers),
      authz_(std::move(authz)),
      tracer_(tracer),
      openapi_(openapi_document()) {}

CheckApi::~CheckApi() = default;

std::vector<std::string> route_templates() {
  std::vector<std::string> templates;
  templates.reserve(std::size(kRoutes) + 1);
  for (const Route& route : kRoutes) templates.emplace_back(route.path);
  templates.emplace_back("other");
  return templates;
}

std::size_t CheckApi::body_limit(std::string_view method, std::string_view path) const {
  if (method == "POST" && path == kBatchPath) return kMaxBatchBytes;
  return path == kRateLimitPath && rate_limits_ ? rls::kMaxRequestBytes : kMaxCheckBytes;
}

bool CheckApi::answers(std::string_view method, std::string_view path) const {
  const std::size_t route = route_of(path);
  if (route == kNoRoute || (path == kRateLimitPath && !rate_limits_)) return false;
  return kRoutes[route].any_method || kRoutes[route].method == method;
}

void CheckApi::handle(http::Request& request, http::Reply http_reply) {
  std::size_t route = route_of(request.path);
  std::string_view request_id = request.header(http::kRequestIdField);
  if (!request_id.empty() && !http::is_request_id(request_id)) {
    request_id = made_request_id_ = http::make_request_id();
  }
  RouteReply reply(std::move(http_reply), counters_, refusals_, route, request_id);
  if (request.path == kRateLimitPath && !rate_limits_) route = kNoRoute;
  if (tracer_ != nullptr && route != kNoRoute && !kRoutes[route].is_open()) [[unlikely]]
    reply.trace(begin_span(*tracer_, request, kRoutes[route].path));
  if (route == kNoRoute) return send_no_route(reply, request.path, {});
  if (kRoutes[route].any_method) return authorize(request, std::move(reply));
  std::string_view method = kRoutes[route].method;
  bool readable = method == "GET" && request.method == "HEAD";  // GET routes answer HEAD too
  if (request.method != method && !readable) {
    return send_no_route(reply, request.path, method == "GET" ? "GET, HEAD" : method);
  }
  if (method == "POST" && !is_json(request)) return send_unsupported(reply, request);
  if (!request.query.empty() && takes_no_query(kRoutes[route]) && refuse_parameters(reply, request.query)) return;
  if (request.path == kCheckPath) return check(request, std::move(reply));
  if (request.path == kBatchPath) return check_batch(request, std::move(reply));
  if (request.path == "/v1/release") return change_lease(request, std::move(reply), Change::release);
  if (request.path == "/v1/renew") return change_lease(request, std::move(reply), Change::renew);
  if (request.path == kRateLimitPath) return rate_limits_->handle(request, std::move(reply));
  if (request.path == "/v1/snapshot") return show_snapshot(std::move(reply));
  if (request.path == "/openapi.json") return send_json(reply, 200, openapi_);
  if (request.path == "/docs") return send_docs(reply);
  if (request.path != "/v1/health") return send_problem_page(reply, request.path);
  send_health(reply);
}

void CheckApi::refused(const http::Refusal& refusal) {
  count_refusal(refusals_, {.status = refusal.status, .type = refusal.type});
}

template <class Read>
void CheckApi::start(http::Request& request, RouteReply reply, std::string_view api_key, DecisionForm form, Read read) {
  auto place = decider_.admit();
  if (!place) return writer_.send(reply, place.error(), form);
  auto caller = decider_.authenticate(api_key);
  if (!caller) {
    place->leave();
    return refuse_caller(request, reply, caller.error());
  }
  singles_.take(*this).start(request, std::move(reply), *std::move(place), *std::move(caller), form, read);
}

void CheckApi::check(http::Request& request, RouteReply reply) {
  const DecisionForm form{.as_text = wants_text(request.header("accept")), .for_clients = false};
  start(request, std::move(reply), request.header("x-api-key"), form,
        [](const http::Request& http, std::string& text, CheckRequest& out) {
          text.assign(http.body.data(), http.body.size());
          return parse_check(text, out);
        });
}

// With an API key of its own, the agent ignores the one of a trusted proxy's sub-request: most proxies copy the headers
// of their clients into it.
void CheckApi::authorize(http::Request& request, RouteReply reply) {
  const DecisionForm form{.as_text = wants_text(request.header("accept")), .for_clients = true};
  const Peer peer = find_peer(request.peer, authz_.proxies);
  const bool has_key = peer.trusted && !authz_key_.empty();
  start(request, std::move(reply), has_key ? std::string_view(authz_key_) : request.header("x-api-key"), form,
        [this, &peer](const http::Request& http, std::string& text, CheckRequest& out) {
          return read_authz(authz_, http, peer, text, out);
        });
}

// Without a snapshot, --no-snapshot=deny gives the whole batch one decision; --no-snapshot=allow gives each check one.
void CheckApi::check_batch(http::Request& request, RouteReply reply) {
  if (const auto decision = decider_.refuse_all()) return writer_.send(reply, *decision, {});
  std::optional<decide::Caller> authenticated;
  if (decider_.snapshot()) {
    auto caller = decider_.authenticate(request.header("x-api-key"));
    if (!caller) return refuse_caller(request, reply, caller.error());
    authenticated = *std::move(caller);
  }
  batches_.take(decider_, batches_).start(request, std::move(reply), std::move(authenticated));
}

void CheckApi::change_lease(http::Request& request, RouteReply reply, Change change) {
  const auto caller = decider_.authenticate(request.header("x-api-key"));
  if (!caller) return refuse_caller(request, reply, caller.error());
  auto id = parse_lease_request({request.body.data(), request.body.size()});
  if (!id) {
    return send_problem(
        reply,
        {.status = 400, .type = kInvalid, .detail = "The body must be {\"lease_id\":\"…\"}.", .errors = id.error()});
  }
  const auto leases = decider_.find_leases(*caller, *id);
  if (!leases) return send_refusal(reply, problem_of(leases.error()));
  auto* listener = new LeaseChange(std::move(reply), change);
  try {
    if (change == Change::release) {
      decider_.release(*leases, caller->origin(), *listener);
    } else {
      decider_.renew(*leases, caller->origin(), *listener);
    }
  } catch (const std::bad_alloc&) {
    listener->fail_without_memory();
  }
}

void CheckApi::refuse_caller(const http::Request& request, RouteReply& reply, const decide::Refusal& why) {
  CheckProblem problem = problem_of(why);
  if (why.kind == decide::Refusal::Kind::unauthenticated && why.credential == CredentialFault::missing) {
    problem.detail += key_elsewhere(request.header("authorization"));
  }
  send_refusal(reply, problem);
}

void CheckApi::show_snapshot(RouteReply reply) const {
  const policy::Snapshot* snapshot = decider_.snapshot();
  if (!snapshot) {
    if (!rate_limits_) return send_json(reply, 200, R"({"loaded":false})");
    return send_json(reply, 200, fmt::format(R"({{"loaded":false,"ratelimit":{}}})", rate_limits_->describe()));
  }
  const Head head = head_ ? *head_ : Head{snapshot->revision, snapshot->chain, snapshot->made_at_us};
  std::string body = fmt::format(R"({{"loaded":true,"revision":{},"chain":)", head.revision);
  json::append_string(body, head.chain);
  body += fmt::format(R"(,"age_seconds":{:.3f},"tenants":{},"plans":{},"policies":{},"keys":{},"overrides":{})",
                      static_cast<double>(decider_.clock().now_us() - head.as_of_us) / 1e6, snapshot->tenants.size(),
                      snapshot->plan_count, snapshot->policy_count, snapshot->keys.size(), snapshot->overrides.size());
  if (const std::string_view breaker = decider_.store().breaker(); !breaker.empty()) {
    body += fmt::format(R"(,"breaker":"{}")", breaker);
  }
  if (rate_limits_) body.append(R"(,"ratelimit":)").append(rate_limits_->describe());
  body += '}';
  send_json(reply, 200, body);
}

}  // namespace sluice::agent::api
