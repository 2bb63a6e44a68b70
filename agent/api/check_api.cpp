#include "agent/api/check_api.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "agent/api/lease_request.hpp"
#include "agent/api/openapi.hpp"
#include "common/domain/check_batch.hpp"
#include "common/json/text.hpp"
#include "common/limiter/lease_id.hpp"

namespace sluice::agent::api {
namespace {

constexpr std::string_view kBatchPath = "/v1/check/batch";

struct Route {
  std::string_view path;
  std::string_view method;
};
constexpr Route kRoutes[] = {{"/v1/check", "POST"},   {kBatchPath, "POST"},  {"/v1/release", "POST"},
                             {"/v1/renew", "POST"},   {"/v1/health", "GET"}, {"/v1/snapshot", "GET"},
                             {"/openapi.json", "GET"}};

constexpr std::size_t kNoRoute = std::size(kRoutes);

std::size_t route_of(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(kRoutes, path, &Route::path) - kRoutes);
}

}  // namespace

// A check, and the reply that waits for it.
class CheckApi::Single final : public decide::CheckListener {
 public:
  explicit Single(CheckApi& api) : api_(api), check_(api.context_) {}

  // REQUIRES: CheckContext::enter().
  void start(const http::Request& http, RouteReply reply, const policy::KeyView& key) {
    reply_.emplace(std::move(reply));
    snapshot_ = api_.snapshot_;
    as_text_ = wants_text(http.header("accept"));
    traceparent_ = http.header("traceparent");
    body_.assign(http.body.data(), http.body.size());  // the connection's buffer does not wait for Redis
    check_.start(body_, {.snapshot = snapshot_.get(), .key = &key, .traceparent = traceparent_}, *this, 0);
  }

  void decided(std::size_t, const Decision& decision) override {
    api_.writer_.send(*reply_, decision, as_text_);
    rest();
  }
  void refused(std::size_t, const http::Problem& problem) override {
    send_problem(*reply_, problem);
    rest();
  }

 private:
  void rest() {
    reply_.reset();
    snapshot_.reset();
    api_.singles_.give_back(*this);
  }

  CheckApi& api_;
  std::optional<RouteReply> reply_;
  std::shared_ptr<const policy::Snapshot> snapshot_;  // keeps the key and the course of the check alive
  bool as_text_ = false;
  std::string traceparent_;
  std::string body_;
  decide::Check check_;
};

// One release or renewal; owns itself until the store has answered.
class CheckApi::LeaseChange final : public limiter::LeaseListener {
 public:
  LeaseChange(RouteReply reply, Change change) : reply_(std::move(reply)), change_(change) {}

  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& result) override {
    std::unique_ptr<LeaseChange> self(this);
    if (!result) {
      return send_problem(reply_, 503, "The counter store does not answer; the lease ends by itself at its expiry.", {},
                          "Retry-After: 1\r\n");
    }
    if (change_ == Change::release) {
      return send_json(reply_, 200, fmt::format(R"({{"released":{}}})", result->live));
    }
    if (!result->live) return send_json(reply_, 200, R"({"renewed":false})");
    send_json(reply_, 200,
              fmt::format(R"({{"renewed":true,"lease_expires_at":{}}})", result->expires_at_us / 1'000'000));
  }

 private:
  RouteReply reply_;
  Change change_;
};

CheckApi::CheckApi(CheckApiOptions options, limiter::CounterStore& store, const Clock& clock,
                   std::atomic<std::size_t>& in_flight, telemetry::Metrics& metrics, telemetry::DecisionLog& log,
                   usage::WorkerUsage* usage)
    : options_(options),
      context_(store, clock, metrics, log, in_flight, options.max_in_flight, options.policy_label, usage),
      writer_(options.headers) {}

CheckApi::~CheckApi() = default;

std::vector<std::string> route_templates() {
  std::vector<std::string> templates;
  for (const Route& route : kRoutes) templates.emplace_back(route.path);
  templates.emplace_back("other");
  return templates;
}

std::size_t CheckApi::body_limit(std::string_view method, std::string_view path) const {
  return method == "POST" && path == kBatchPath ? kMaxBatchBytes : kMaxCheckBytes;
}

void CheckApi::handle(http::Request& request, http::Reply its_reply) {
  std::size_t route = route_of(request.path);
  RouteReply reply(std::move(its_reply), context_.metrics.http, route);
  if (route == kNoRoute) return send_no_route(reply, request.path, {});
  std::string_view method = kRoutes[route].method;
  bool readable = method == "GET" && request.method == "HEAD";
  if (request.method != method && !readable) {
    return send_no_route(reply, request.path, method == "GET" ? "GET, HEAD" : method);
  }
  if (request.path == "/v1/check") return check(request, std::move(reply));
  if (request.path == kBatchPath) return check_batch(request, std::move(reply));
  if (request.path == "/v1/release") return change_lease(request, std::move(reply), Change::release);
  if (request.path == "/v1/renew") return change_lease(request, std::move(reply), Change::renew);
  if (request.path == "/v1/snapshot") return show_snapshot(std::move(reply));
  if (request.path == "/openapi.json") return send_json(reply, 200, openapi_document());
  send_health(reply);
}

void CheckApi::set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot) {
  context_.forget_counters();
  snapshot_ = std::move(snapshot);
  head_.reset();
}

const policy::KeyView* CheckApi::authenticated(const http::Request& request) const {
  return decide::authenticate(*snapshot_, request.header("x-api-key"), context_.clock.now_us());
}

void CheckApi::check(http::Request& request, RouteReply reply) {
  const bool as_text = wants_text(request.header("accept"));
  if (!snapshot_) {
    return writer_.send(reply, context_.unjudged(Reason::no_snapshot, options_.allow_without_snapshot), as_text);
  }
  if (!context_.enter()) return writer_.send(reply, context_.unjudged(Reason::overload, false), as_text);
  const policy::KeyView* key = authenticated(request);
  if (!key) {
    context_.leave();
    return send_unauthorized(reply);
  }
  singles_.take(*this).start(request, std::move(reply), *key);
}

// Where nothing can be decided the whole is answered as one check is; a 200 always carries `results`.
void CheckApi::check_batch(http::Request& request, RouteReply reply) {
  if (!snapshot_ && !options_.allow_without_snapshot) {
    return writer_.send(reply, context_.unjudged(Reason::no_snapshot, false), false);
  }
  const policy::KeyView* key = snapshot_ ? authenticated(request) : nullptr;
  if (snapshot_ && !key) return send_unauthorized(reply);
  batches_.take(context_, batches_).start(request, std::move(reply), snapshot_, key);
}

void CheckApi::change_lease(http::Request& request, RouteReply reply, Change change) {
  if (!snapshot_) return send_problem(reply, 503, "No policies are loaded yet.", {}, "Retry-After: 1\r\n");
  const policy::KeyView* key = authenticated(request);
  if (!key) return send_unauthorized(reply);
  auto text = parse_lease_request({request.body.data(), request.body.size()});
  if (!text) return send_problem(reply, 400, "The body must be {\"lease_id\":\"…\"}.", text.error());
  auto lease = limiter::decode_lease_id(*text);
  if (!lease) {
    Faults malformed{{"/lease_id", "is not a lease id; send it as the check answered it"}};
    return send_problem(reply, 422, "The lease id is malformed.", malformed);
  }
  if (lease->tenant != key->tenant->id) return send_problem(reply, 404, "There is no such lease.");
  auto* listener = new LeaseChange(std::move(reply), change);
  if (change == Change::release) {
    context_.store.release(lease->leases, *listener);
  } else {
    context_.store.renew(lease->leases, *listener);
  }
}

void CheckApi::show_snapshot(RouteReply reply) const {
  if (!snapshot_) return send_json(reply, 200, R"({"loaded":false})");
  const Head head = head_ ? *head_ : Head{snapshot_->revision, snapshot_->chain, snapshot_->made_at_us};
  std::string body = fmt::format(R"({{"loaded":true,"revision":{},"chain":)", head.revision);
  json::append_string(body, head.chain);
  body +=
      fmt::format(R"(,"age_seconds":{:.3f},"tenants":{},"plans":{},"policies":{},"keys":{},"overrides":{}}})",
                  static_cast<double>(context_.clock.now_us() - head.as_of_us) / 1e6, snapshot_->tenants.size(),
                  snapshot_->plan_count, snapshot_->policy_count, snapshot_->keys.size(), snapshot_->overrides.size());
  send_json(reply, 200, body);
}

}  // namespace sluice::agent::api
