#include "libsluice/checker.hpp"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "libsluice/decision_of.hpp"

namespace sluice::lib {
namespace {

// The program trusts itself, and nobody else waits for it: matching has no bound.
constexpr std::chrono::seconds kNoBound{1};

}  // namespace

struct Checker::LeaseAnswer final : limiter::LeaseListener {
  void settled(const limiter::StoreResult<limiter::LeaseOutcome>& its_result) override { result = its_result; }
  std::optional<limiter::StoreResult<limiter::LeaseOutcome>> result;
};

Checker::Checker(const CheckerParts& parts, decide::DecisionObserver& observer)
    : store_(parts.counters),
      room_(parts.waiting, {}, [](auto) {}),
      decider_(store_, nullptr, parts.clock, parts.in_flight, room_, observer,
               {.allow = parts.allow_without_policies, .cause = {}}, decide::MatchingBudget(kNoBound),
               decide::RedisTime(kNoBound, 1)),
      callers_(decider_, parts.tenant) {}

void Checker::set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot) {
  tenant_of_last_ = nullptr;
  decider_.set_snapshot(snapshot);
  callers_.set_snapshot(std::move(snapshot));
}

void Checker::check(const v1::Request& request, v1::Decision& decision, bool batch) {
  decision.status.code = v1::Code::ok;
  decision.status.message.clear();
  if (decider_.snapshot() == nullptr) [[unlikely]]
    return decide_without_policies(request, decision);
  Callers::Found found = callers_.find(request, decision.status);
  if (found.caller == nullptr || !reader_.read(request, core_request_, decision.status)) [[unlikely]]
    return clear(decision);
  found.origin.batch = batch;
  tenant_of_last_ = found.caller->tenant;
  request_ = &request;
  decision_ = &decision;
  check_.start({}, *found.caller, found.origin, core_request_, {}, *this);
}

void Checker::decide_without_policies(const v1::Request& request, v1::Decision& decision) {
  if (auto refused = decider_.admit(); !refused) convert(refused.error(), request, decision);
}

void Checker::decided(std::size_t, const Decision& decision) { convert(decision, *request_, *decision_); }

void Checker::refused(std::size_t, const decide::Refusal& refusal) {
  clear(*decision_);
  decision_->status = status_of(refusal);
}

// `ask(leases, origin, listener)` asks the counters, and `status_of_outcome(outcome)` says what their answer means.
template <class Ask, class StatusOf>
v1::Status Checker::change_lease(std::string_view tenant, std::string_view lease_id, Ask ask,
                                 StatusOf status_of_outcome) {
  v1::Status status;
  if (decider_.snapshot() == nullptr) return status_of({.kind = decide::Refusal::Kind::no_policies});
  const Callers::Found found = callers_.find(tenant, status);
  if (found.caller == nullptr) return status;
  const auto leases = decider_.find_leases(*found.caller, lease_id);
  if (!leases) return status_of(leases.error());
  LeaseAnswer answer;
  ask(*leases, found.origin, answer);
  if (!*answer.result) return status_of(answer.result->error().fault);
  return status_of_outcome(**answer.result);
}

// A lease that has ended by itself has given its places back.
v1::Status Checker::release(std::string_view tenant, std::string_view lease_id) {
  return change_lease(
      tenant, lease_id,
      [this](const auto& leases, const auto& origin, LeaseAnswer& answer) { decider_.release(leases, origin, answer); },
      [](const limiter::LeaseOutcome&) { return v1::Status(); });
}

v1::Status Checker::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) {
  return change_lease(
      tenant, lease_id,
      [this](const auto& leases, const auto& origin, LeaseAnswer& answer) { decider_.renew(leases, origin, answer); },
      [expires_us](const limiter::LeaseOutcome& outcome) {
        if (!outcome.live) return v1::Status{v1::Code::unknown_lease, "lease_id: the lease has ended"};
        if (expires_us != nullptr) *expires_us = outcome.expires_at_us;
        return v1::Status();
      });
}

}  // namespace sluice::lib
