#include "server/admin/caller_gate.hpp"

#include <chrono>

#include "server/admin/routes.hpp"

namespace sluice::server::admin {

using std::chrono::steady_clock;
using Verdict = auth::KnownMatch::Verdict;

http::Refusal unauthorized(auth::FailureThrottle& throttle, std::string_view source, std::int64_t now_us) {
  const auto wait = throttle.failed(source, now_us);
  if (wait.count() > 0) return http::too_many_failures(wait);
  return {401,
          "unauthorized",
          "Send a valid admin token: Authorization: Bearer sla_….",
          {},
          "WWW-Authenticate: Bearer realm=\"sluice\"\r\n"};
}

void CallerGate::check(const Call& call, bool charged, Next next) {
  if (!tokens_) return next(std::nullopt);
  const auth::KnownMatch match = auth::match_known(*tokens_, call.authorization, clock_.now_us());
  if (match.verdict == Verdict::accepted) return accept(call, charged, match.id, next);
  if (match.verdict == Verdict::refused || missed_.contains(match.id, steady_clock::now())) {
    return next(refusal_of(call));
  }
  lookups_.request(
      [this, &call, charged, next = std::move(next)](bool succeeded) { check_again(call, charged, succeeded, next); });
}

void CallerGate::check_again(const Call& call, bool charged, bool looked_up, const Next& next) {
  const auth::KnownMatch match = auth::match_known(*tokens_, call.authorization, clock_.now_us());
  if (match.verdict == Verdict::accepted) return accept(call, charged, match.id, next);
  if (!looked_up && match.verdict == Verdict::outdated) {
    return next(http::Refusal(503, "unavailable",
                              "The server does not know this token, and PostgreSQL cannot be reached to look it up; "
                              "nothing was changed.",
                              {}, "Retry-After: 1\r\n"));
  }
  if (match.verdict == Verdict::outdated) missed_.add(match.id, steady_clock::now());
  next(refusal_of(call));
}

void CallerGate::accept(const Call& call, bool charged, std::string_view token_id, const Next& next) {
  const bool writes = call.route->changes();
  next(charged ? std::nullopt : rates_.charge(token_id, writes, rate_quota(token_id, writes)));
}

// REQUIRES: tokens_ has the token.
std::optional<auth::KnownQuotas::Found> CallerGate::rate_quota(std::string_view token_id, bool writes) const {
  const auth::TokenDocument& token = tokens_->find(token_id)->second->document;
  return quotas_->nearest(
      token.organization_id, token.tenant_ids,
      writes ? &auth::TokenQuotas::admin_writes_per_second : &auth::TokenQuotas::admin_reads_per_second);
}

http::Refusal CallerGate::refusal_of(const Call& call) { return unauthorized(throttle_, call.source, clock_.now_us()); }

}  // namespace sluice::server::admin
