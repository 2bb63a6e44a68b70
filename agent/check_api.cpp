#include "agent/check_api.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "agent/lease_request.hpp"
#include "agent/openapi.hpp"
#include "common/base/json_text.hpp"
#include "common/limiter/lease_id.hpp"

namespace sluice::agent {
namespace {

constexpr std::size_t kMaxBody = 16 * 1024;

struct Route {
  std::string_view path;
  std::string_view method;
};
constexpr Route kRoutes[] = {{"/v1/check", "POST"}, {"/v1/release", "POST"}, {"/v1/renew", "POST"},
                             {"/v1/health", "GET"}, {"/v1/snapshot", "GET"}, {"/openapi.json", "GET"}};

constexpr std::size_t kNoRoute = std::size(kRoutes);

std::size_t route_of(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::find(kRoutes, path, &Route::path) - kRoutes);
}

}  // namespace

// One check on its way through the arrows; waits for the store in between.
class CheckApi::Check {
 public:
  explicit Check(CheckApi& api) : api_(api) {}

  void start(http::Request& http, RouteReply reply, const policy::KeyView& key) {
    started_ = std::chrono::steady_clock::now();
    reply_.emplace(std::move(reply));
    snapshot_ = api_.snapshot_;
    key_ = &key;
    as_text_ = wants_text(http.header("accept"));
    traceparent_ = http.header("traceparent");
    body_.assign(http.body.data(), http.body.size());  // the connection's buffer does not wait for Redis
    auto faults = parse_check(body_, request_);
    if (!faults.empty()) return refuse(faults);
    course_ = choose_course(*snapshot_, key, request_, api_.clock_.now_us());
    switch (course_.kind) {
      case Course::Kind::judge:
        return judge();
      case Course::Kind::unknown_plan:
        return refuse(404, "There is no such plan.", {{"/plan_id", "names no plan of this tenant"}});
      case Course::Kind::missing_key:
        return refuse(422, "The request lacks what its counter is named by.",
                      {{'/' + course_.missing, "is required: the policy counts by it"}});
      default:
        return answer(conclude_unjudged(course_, *key.tenant, request_));
    }
  }

 private:
  // Told of one of the two judgements: the deciding one and the shadow's beside it.
  struct Judged final : limiter::JudgeListener {
    explicit Judged(Check& its_check) : check(its_check) {}
    void judged(const limiter::StoreResult<limiter::Outcome>& result) override {
      outcome = result;
      check.judged();
    }
    Check& check;
    limiter::Call call;
    limiter::StoreResult<limiter::Outcome> outcome;
  };

  void judge() {
    const policy::TenantView& tenant = *key_->tenant;
    open_ = course_.shadow ? 2 : 1;
    prepare_call(tenant, *course_.deciding, request_, decided_.call);
    if (course_.shadow) {
      prepare_call(tenant, *course_.shadow, request_, shadowed_.call);
      shadowed_.call.explain = false;
      api_.store_.judge(shadowed_.call, shadowed_);
    }
    api_.store_.judge(decided_.call, decided_);
  }

  void judged() {
    if (--open_ > 0) return;
    Decision decision =
        conclude(course_, request_, decided_.call, decided_.outcome, course_.shadow ? &shadowed_.outcome : nullptr);
    std::string lease_id = take_leases(decision);
    decision.lease_id = lease_id;
    answer(decision);
  }

  // The lease id covers the shadow's leases too: a release frees both.
  std::string take_leases(Decision& decision) {
    std::vector<limiter::LeaseRef> leases;
    std::int64_t shortest = INT64_MAX;
    auto collect = [&](const policy::Rulebook* rulebook, const Judged& judged) {
      if (!rulebook || rulebook->program->leases == 0 || !judged.outcome) return;
      append_leases(*rulebook, judged.call, *judged.outcome, leases);
      for (std::int64_t ttl : judged.outcome->lease_ttl_us) {
        if (ttl > 0) shortest = std::min(shortest, judged.outcome->now_us + ttl);
      }
    };
    collect(course_.deciding, decided_);
    collect(course_.shadow, shadowed_);
    if (leases.empty()) return {};
    decision.lease_expires_at_us = shortest;
    return limiter::encode_lease_id(key_->tenant->tenant.id, leases);
  }

  void answer(const Decision& decision) {
    api_.writer_.send(*reply_, decision, as_text_);
    api_.counters(*key_->tenant, course_.deciding).count(decision.allowed, decision.reason);
    if (decision.reason == Reason::fail_open || decision.reason == Reason::fail_closed) {
      api_.metrics_.count_failure_mode_answer(course_.deciding->enforcement.failure_mode);
    }
    api_.metrics_.decision_duration.observe(std::chrono::steady_clock::now() - started_);
    if (api_.log_.wants(decision.allowed)) log(decision);
    rest();
  }

  void log(const Decision& decision) {
    const Value* subject = request_.find({Dimension::subject, ""});
    telemetry::DecisionRecord record;
    record.tenant = key_->tenant->tenant.id;
    if (subject) record.subject = subject->text;
    record.has_subject = subject != nullptr;
    record.policy_id = decision.policy_id;
    record.plan_id = decision.plan_id;
    if (decision.has_limit) record.algorithm = course_.deciding->program->limits[decided_.outcome->binding].algorithm;
    record.allowed = decision.allowed;
    record.reason = decision.reason;
    record.request_id = request_.request_id;
    record.traceparent = traceparent_;
    api_.log_.write(record);
  }

  void refuse(const std::vector<RequestFault>& faults) {
    Faults errors;
    for (const RequestFault& fault : faults) errors.push_back({fault.pointer, fault.text});
    unsigned status = faults.front().status;
    refuse(status, status == 400 ? "The body is not a check request." : "A value is out of range.", errors);
  }
  void refuse(unsigned status, std::string_view detail, const Faults& errors) {
    send_problem(*reply_, status, detail, errors, {}, request_.request_id);
    rest();
  }

  void rest() {
    api_.in_flight_.fetch_sub(1, std::memory_order_relaxed);
    reply_.reset();
    snapshot_.reset();
    api_.idle_.emplace_back(this);
  }

  CheckApi& api_;
  std::chrono::steady_clock::time_point started_;
  std::optional<RouteReply> reply_;
  std::shared_ptr<const policy::Snapshot> snapshot_;  // keeps key_, course_ and the programs alive
  const policy::KeyView* key_ = nullptr;
  bool as_text_ = false;
  std::string traceparent_;
  std::string body_;  // request_ points into it
  CheckRequest request_;
  Course course_;
  int open_ = 0;  // judgements not told yet
  Judged decided_{*this};
  Judged shadowed_{*this};
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
                   std::atomic<std::size_t>& in_flight, telemetry::Metrics& metrics, telemetry::DecisionLog& log)
    : options_(options),
      store_(store),
      clock_(clock),
      in_flight_(in_flight),
      metrics_(metrics),
      log_(log),
      writer_(options.headers) {}

CheckApi::~CheckApi() = default;

std::vector<std::string> route_templates() {
  std::vector<std::string> templates;
  for (const Route& route : kRoutes) templates.emplace_back(route.path);
  templates.emplace_back("other");
  return templates;
}

std::size_t CheckApi::body_limit(std::string_view, std::string_view) const { return kMaxBody; }

void CheckApi::handle(http::Request& request, http::Reply its_reply) {
  std::size_t route = route_of(request.path);
  RouteReply reply(std::move(its_reply), metrics_.http, route);
  if (route == kNoRoute) return send_no_route(reply, request.path, {});
  std::string_view method = kRoutes[route].method;
  bool readable = method == "GET" && request.method == "HEAD";
  if (request.method != method && !readable) {
    return send_no_route(reply, request.path, method == "GET" ? "GET, HEAD" : method);
  }
  if (request.path == "/v1/check") return check(request, std::move(reply));
  if (request.path == "/v1/release") return change_lease(request, std::move(reply), Change::release);
  if (request.path == "/v1/renew") return change_lease(request, std::move(reply), Change::renew);
  if (request.path == "/v1/snapshot") return show_snapshot(std::move(reply));
  if (request.path == "/openapi.json") return send_json(reply, 200, openapi_document());
  send_health(reply);
}

void CheckApi::set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot) {
  counters_.clear();
  snapshot_ = std::move(snapshot);
}

// The block of counters, looked up by name once for each snapshot.
telemetry::DecisionCounters& CheckApi::counters(const policy::TenantView& tenant, const policy::Rulebook* rulebook) {
  bool by_policy = options_.policy_label && rulebook && rulebook->is_policy;
  auto& block = counters_[by_policy ? static_cast<const void*>(rulebook) : &tenant];
  if (!block) block = &metrics_.decisions.counters(tenant.tenant.id, by_policy ? rulebook->owner_id : std::string());
  return *block;
}

const policy::KeyView* CheckApi::authenticated(const http::Request& request) const {
  return authenticate(*snapshot_, request.header("x-api-key"), clock_.now_us());
}

void CheckApi::check(http::Request& request, RouteReply reply) {
  bool as_text = wants_text(request.header("accept"));
  if (!snapshot_) return answer_unjudged(reply, Reason::no_snapshot, options_.allow_without_snapshot, as_text);
  // Taken before it is judged: workers that ask at once must not all see the last free place.
  bool full = in_flight_.fetch_add(1, std::memory_order_relaxed) >= options_.max_in_flight;
  const policy::KeyView* key = full ? nullptr : authenticated(request);
  if (!key) {
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
    return full ? answer_unjudged(reply, Reason::overload, false, as_text) : send_unauthorized(reply);
  }
  std::unique_ptr<Check> idle;
  if (idle_.empty()) {
    idle = std::make_unique<Check>(*this);
  } else {
    idle = std::move(idle_.back());
    idle_.pop_back();
  }
  idle.release()->start(request, std::move(reply), *key);  // comes back to idle_ when it has answered
}

void CheckApi::answer_unjudged(RouteReply& reply, Reason reason, bool allowed, bool as_text) {
  Decision decision;
  decision.allowed = allowed;
  decision.action = allowed ? Action::allow : Action::deny;
  decision.reason = reason;
  writer_.send(reply, decision, as_text);
  metrics_.decisions.counters({}).count(allowed, reason);
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
  if (lease->tenant != key->tenant->tenant.id) return send_problem(reply, 404, "There is no such lease.");
  auto* listener = new LeaseChange(std::move(reply), change);
  if (change == Change::release) {
    store_.release(lease->leases, *listener);
  } else {
    store_.renew(lease->leases, *listener);
  }
}

void CheckApi::show_snapshot(RouteReply reply) const {
  if (!snapshot_) return send_json(reply, 200, R"({"loaded":false})");
  std::string body = fmt::format(R"({{"loaded":true,"revision":{},"chain":)", snapshot_->revision);
  append_json_string(body, snapshot_->chain);
  body +=
      fmt::format(R"(,"age_seconds":{:.3f},"tenants":{},"plans":{},"policies":{},"keys":{},"overrides":{}}})",
                  static_cast<double>(clock_.now_us() - snapshot_->made_at_us) / 1e6, snapshot_->tenants.size(),
                  snapshot_->plan_count, snapshot_->policy_count, snapshot_->keys.size(), snapshot_->overrides.size());
  send_json(reply, 200, body);
}

}  // namespace sluice::agent
