#include "libsluice/checker.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "libsluice/decision_of.hpp"

namespace sluice::lib {
namespace {

// The program trusts itself, and nobody else waits for it: matching has no bound.
constexpr std::chrono::seconds kNoBound{1};
constexpr std::chrono::milliseconds kLeasePause{50};  // leases are released at any time

}  // namespace

struct Checker::LeaseAnswer final : limiter::LeaseListener {
  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& its_result) override { result = its_result; }
  std::optional<limiter::StoreResult<limiter::LeaseOutcome>> result;
};

Checker::Checker(const CheckerParts& parts, decide::DecisionObserver& observer)
    : tenant_(parts.tenant),
      store_(parts.counters),
      room_(parts.waiting, {}, [](auto) {}),
      decider_(store_, nullptr, parts.clock, parts.in_flight, room_, observer,
               {.allow = parts.allow_without_policies, .cause = {}}, decide::MatchingBudget(kNoBound),
               decide::RedisTime(kNoBound, 1)) {}

void Checker::set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot) {
  trusted_ = {};
  keyed_ = {};
  unnamed_ = nullptr;
  decider_.set_snapshot(snapshot);
  if (!tenant_.empty()) {
    unnamed_ = snapshot->tenants.find(tenant_);
  } else if (snapshot->tenants.size() == 1) {
    snapshot->tenants.for_each([this](const auto& only) { unnamed_ = only.get(); });
  }
  trusted_ = {.snapshot = std::move(snapshot), .tenant = nullptr, .key_id = {}, .may_override = true};
}

void Checker::check(const v1::Request& request, v1::Decision& decision, bool batch) {
  decision.status.code = v1::Code::ok;
  decision.status.message.clear();
  if (decider_.snapshot() == nullptr) [[unlikely]]
    return decide_without_policies(request, decision);
  const decide::Caller* const caller = find_caller(request, decision.status);
  if (caller == nullptr || !reader_.read(request, core_request_, decision.status)) [[unlikely]]
    return clear(decision);
  origin_.batch = batch;
  request_ = &request;
  decision_ = &decision;
  check_.start({}, *caller, origin_, core_request_, {}, *this);
}

void Checker::decide_without_policies(const v1::Request& request, v1::Decision& decision) {
  if (auto refused = decider_.admit(); !refused) convert(refused.error(), request, decision);
}

void Checker::decided(std::size_t, const Decision& decision) { convert(decision, *request_, *decision_); }

void Checker::refused(std::size_t, const decide::Refusal& refusal) {
  clear(*decision_);
  decision_->status = status_of(refusal);
}

// nullptr: `status` says why. Sets origin_.
const decide::Caller* Checker::find_caller(const v1::Request& request, v1::Status& status) {
  if (request.api_key.data() != nullptr) [[unlikely]]
    return authenticate(request, status);
  return find_tenant(request.tenant, status);
}

const decide::Caller* Checker::find_tenant(std::string_view tenant, v1::Status& status) {
  const policy::TenantView* view = unnamed_;
  if (!tenant.empty()) {
    const bool same = trusted_.tenant != nullptr && trusted_.tenant->name->id == tenant;
    view = same ? trusted_.tenant : decider_.snapshot()->tenants.find(tenant);
  }
  if (view == nullptr) [[unlikely]] {
    status = unknown_tenant(tenant);
    return nullptr;
  }
  if (view != trusted_.tenant) {
    trusted_.tenant = view;
    trusted_origin_ = trusted_.origin();
  }
  origin_ = trusted_origin_;
  return &trusted_;
}

v1::Status Checker::unknown_tenant(std::string_view tenant) const {
  const auto& tenants = decider_.snapshot()->tenants;
  const std::string_view wanted = tenant.empty() ? std::string_view(tenant_) : tenant;
  if (wanted.empty()) {
    return {v1::Code::unknown_tenant,
            fmt::format("tenant: the policies have {} tenants, so a request names one, or Options::tenant does",
                        tenants.size())};
  }
  NearestNames nearest(wanted);
  tenants.for_each([&](const auto& known) { nearest.offer(known->name->id); });
  return {v1::Code::unknown_tenant,
          fmt::format("{}: the policies have no tenant {}.{}", tenant.empty() ? "Options::tenant" : "tenant",
                      quoted(wanted), did_you_mean(nearest.names()))};
}

const decide::Caller* Checker::authenticate(const v1::Request& request, v1::Status& status) {
  auto caller = decider_.authenticate(request.api_key);
  if (!caller) {
    status = status_of(caller.error());
    return nullptr;
  }
  keyed_ = *std::move(caller);
  if (!keyed_.is_of(request.tenant)) {
    status = status_of({.kind = decide::Refusal::Kind::other_tenant});
    return nullptr;
  }
  origin_ = keyed_.origin();
  return &keyed_;
}

v1::Micros Checker::pause(const v1::Decision& decision, bool& sooner) const {
  const policy::TenantView* const tenant = request_->api_key.data() != nullptr ? keyed_.tenant : trusted_.tenant;
  sooner = false;
  if (!decision.has_limit || tenant == nullptr || decision.retry_after == v1::kNever) return decision.retry_after;
  const policy::CompiledPolicy* const policy = tenant->policies.find(decision.policy);
  const policy::Rulebook* const rulebook = policy != nullptr ? &policy->rulebook : tenant->find_plan(decision.plan);
  if (rulebook == nullptr) return decision.retry_after;
  const auto limit = std::ranges::find(rulebook->program->limits, decision.limit_name, &Limit::name);
  if (limit == rulebook->program->limits.end() || limit->algorithm != Algorithm::concurrency) {
    return decision.retry_after;
  }
  sooner = true;
  return std::min<v1::Micros>(decision.retry_after, kLeasePause);
}

// `ask(leases, listener)` asks the counters, and `status_of_outcome(outcome)` says what their answer means.
template <class Ask, class StatusOf>
v1::Status Checker::change_lease(std::string_view tenant, std::string_view lease_id, Ask ask,
                                 StatusOf status_of_outcome) {
  v1::Status status;
  if (decider_.snapshot() == nullptr) return status_of({.kind = decide::Refusal::Kind::no_policies});
  const decide::Caller* const caller = find_tenant(tenant, status);
  if (caller == nullptr) return status;
  const auto leases = decider_.find_leases(*caller, lease_id);
  if (!leases) return status_of(leases.error());
  LeaseAnswer answer;
  ask(*leases, answer);
  if (!*answer.result) return {v1::Code::unreachable, std::string(limiter::describe(answer.result->error().fault))};
  return status_of_outcome(**answer.result);
}

// A lease that has ended by itself has given its places back.
v1::Status Checker::release(std::string_view tenant, std::string_view lease_id) {
  return change_lease(
      tenant, lease_id, [this](const auto& leases, LeaseAnswer& answer) { decider_.release(leases, origin_, answer); },
      [](const limiter::LeaseOutcome&) { return v1::Status(); });
}

v1::Status Checker::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  return change_lease(
      tenant, lease_id, [this](const auto& leases, LeaseAnswer& answer) { decider_.renew(leases, origin_, answer); },
      [expires_us](const limiter::LeaseOutcome& outcome) {
        if (!outcome.live) return v1::Status{v1::Code::unknown_lease, "lease_id: the lease has ended"};
        if (expires_us != nullptr) *expires_us = outcome.expires_at_us;
        return v1::Status();
      });
}

}  // namespace sluice::lib
