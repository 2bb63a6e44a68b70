#include "libsluice/callers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "libsluice/decision_of.hpp"

namespace sluice::lib {
namespace {

constexpr std::chrono::milliseconds kLeasePause{50};  // leases are released at any time

}  // namespace

void Callers::set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot) {
  keyed_ = {};
  unnamed_ = nullptr;
  if (snapshot != nullptr && !tenant_.empty()) {
    unnamed_ = snapshot->tenants.find(tenant_);
  } else if (snapshot != nullptr && snapshot->tenants.size() == 1) {
    snapshot->tenants.for_each([this](const auto& only) { unnamed_ = only.get(); });
  }
  trusted_ = {.snapshot = std::move(snapshot), .tenant = nullptr, .key_id = {}, .may_override = true};
}

Callers::Found Callers::find(std::string_view tenant, v1::Status& status) {
  const policy::TenantView* view = unnamed_;
  if (!tenant.empty()) {
    const bool same = trusted_.tenant != nullptr && trusted_.tenant->name->id == tenant;
    view = same ? trusted_.tenant : decider_.snapshot()->tenants.find(tenant);
  }
  if (view == nullptr) [[unlikely]] {
    status = unknown_tenant(tenant);
    return {};
  }
  if (view != trusted_.tenant) {
    trusted_.tenant = view;
    trusted_origin_ = trusted_.origin();
  }
  return {&trusted_, trusted_origin_};
}

v1::Status Callers::unknown_tenant(std::string_view tenant) const {
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
          visible(fmt::format("{}: the policies have no tenant {}.{}", tenant.empty() ? "Options::tenant" : "tenant",
                              quoted(wanted), did_you_mean(nearest.names())))};
}

Callers::Found Callers::authenticate(const v1::Request& request, v1::Status& status) {
  auto caller = decider_.authenticate(request.api_key);
  if (!caller) {
    status = status_of(caller.error());
    return {};
  }
  keyed_ = *std::move(caller);
  if (!keyed_.is_of(request.tenant)) {
    status = status_of({.kind = decide::Refusal::Kind::other_tenant});
    return {};
  }
  return {&keyed_, keyed_.origin()};
}

Pause pause_after(const v1::Decision& decision, const policy::TenantView* tenant) {
  const Pause plain{.retry_after = decision.retry_after, .sooner = false};
  if (tenant == nullptr || !decision.has_limit || decision.retry_after == v1::kNever) return plain;
  const policy::CompiledPolicy* const policy = tenant->policies.find(decision.policy);
  const policy::Rulebook* const rulebook = policy != nullptr ? &policy->rulebook : tenant->find_plan(decision.plan);
  if (rulebook == nullptr) return plain;
  const auto& limits = rulebook->program->limits;
  const auto limit = std::ranges::find(limits, decision.limit_name, &Limit::name);
  if (limit == limits.end() || limit->algorithm != Algorithm::concurrency) return plain;
  return {.retry_after = std::min<v1::Micros>(decision.retry_after, kLeasePause), .sooner = true};
}

}  // namespace sluice::lib
