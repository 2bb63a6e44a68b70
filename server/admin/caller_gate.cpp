#include "server/admin/caller_gate.hpp"

#include <array>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "server/admin/routes.hpp"
#include "server/auth/group_mapping.hpp"

namespace sluice::server::admin {

using std::chrono::steady_clock;
using Verdict = auth::KnownMatch::Verdict;

namespace {

// Indexed by CredentialFault.
constexpr std::array<std::string_view, 5> kCredentialDetails{
    "An admin token is required: send it as Authorization: Bearer sla_<id>_<secret>.",
    "Authorization is not Bearer and an admin token, or the token is cut or mistyped: send Authorization: Bearer "
    "sla_<id>_<secret>, with the token as it was shown when it was made.",
    "Authorization has an API key or an agent token, which the admin API does not accept: send an admin token, which "
    "begins with sla_.",
    "The admin token in Authorization has expired: send one that is valid, or let an administrator make one.",
    "The admin token in Authorization is unknown or revoked: send one that is valid, or let an administrator make one.",
};

constexpr std::string_view kSessionDetail =
    "The session in the cookie has ended, or its token or its group mapping was revoked, deleted or has expired: "
    "sign in again with POST /v1/admin/session and an admin token, or by OpenID Connect.";

http::Refusal look_up_failed(std::string_view what) {
  return {503,
          "unavailable",
          fmt::format("The server does not know this {}, and PostgreSQL cannot be reached to look it up; nothing was "
                      "changed.",
                      what),
          {},
          "Retry-After: 1\r\n"};
}

}  // namespace

http::Refusal unauthorized(auth::FailureThrottle& throttle, const Call& call, CredentialFault fault,
                           std::int64_t now_us) {
  const auto wait = throttle.failed(call.source, now_us);
  if (wait.count() > 0) return http::too_many_failures(wait);
  std::string detail(call.session.empty() ? kCredentialDetails[static_cast<std::size_t>(fault)] : kSessionDetail);
  if (fault == CredentialFault::missing && call.has_api_key) {
    detail += " The request has x-api-key, which is for checks of agents: the admin API does not read it.";
  }
  http::Refusal refusal(401, "unauthorized", std::move(detail), {}, "WWW-Authenticate: Bearer realm=\"sluice\"\r\n");
  refusal.code = to_string(fault);
  return refusal;
}

std::optional<http::Refusal> CallerGate::refusal_of_visitor(const Call& call, bool charged) {
  if (visitors_ == nullptr) {
    return http::Refusal(
        403, "forbidden",
        "The playground of this server needs signing in. Without it, the playground works only for the "
        "tenant of --playground, and the server was started without this flag.");
  }
  if (charged) return std::nullopt;
  const auto wait = visitors_->charge(call.source, clock_.now_us());
  if (wait.count() == 0) return std::nullopt;
  return http::Refusal(
      429, "rate-limited",
      "Too many calls of the playground without signing in, from your address or from all together. The "
      "call was not carried out.",
      {}, fmt::format("Retry-After: {}\r\n", wait.count()));
}

void CallerGate::check(const Call& call, bool charged, Next next) {
  if (call.route->open) return next(refusal_of_visitor(call, charged));
  if (!tokens_) return next(std::nullopt);
  if (!call.session.empty() && sessions_.find(call.session.hash) == nullptr) {
    return look_up_session(call, charged, std::move(next));
  }
  check_token(call, charged, std::move(next));
}

// nullptr: the call came with a token, or with a session that stands for one or is unknown.
const sessions::Session* CallerGate::session_of_person(const Call& call) const {
  const sessions::Session* const session = call.session.empty() ? nullptr : sessions_.find(call.session.hash);
  return session != nullptr && session->of_person() ? session : nullptr;
}

void CallerGate::check_person(const Call& call, bool charged, const sessions::Session& session, const Next& next) {
  if (session.expires_at_us <= clock_.now_us()) return next(refusal_of(call, CredentialFault::expired));
  if (charged) return next(std::nullopt);
  const bool writes = call.route->changes();
  const auto quota = quotas_->nearest(
      session.organization_id, session.tenant_ids,
      writes ? &auth::TokenQuotas::admin_writes_per_second : &auth::TokenQuotas::admin_reads_per_second);
  next(rates_.charge(auth::actor_of_subject(session.subject), writes, quota));
}

void CallerGate::look_up_session(const Call& call, bool charged, Next next) {
  if (sessions_.is_missed(call.session.hash)) return next(refusal_of(call, CredentialFault::unknown));
  sessions_.look_up(call.session.hash, [this, &call, charged, next = std::move(next)](bool succeeded) {
    if (!succeeded) return next(look_up_failed("session"));
    check_token(call, charged, next);
  });
}

// The token that the call presents, or that its session belongs to.
auth::KnownMatch CallerGate::match(const Call& call) const {
  const std::int64_t now_us = clock_.now_us();
  if (call.session.empty()) return auth::match_known(*tokens_, call.authorization, now_us);
  const sessions::Session* const session = sessions_.find(call.session.hash);
  if (session == nullptr) return {.fault = CredentialFault::unknown};
  if (session->expires_at_us <= now_us) return {.fault = CredentialFault::expired};
  return auth::match_known_id(*tokens_, session->token_id, now_us);
}

void CallerGate::check_token(const Call& call, bool charged, Next next) {
  if (const sessions::Session* const person = session_of_person(call))
    return check_person(call, charged, *person, next);
  const auth::KnownMatch match = this->match(call);
  if (match.verdict == Verdict::accepted) return accept(call, charged, match.id, next);
  if (match.verdict == Verdict::refused || missed_.contains(match.id, steady_clock::now())) {
    return next(refusal_of(call, match.fault));
  }
  lookups_.request(
      [this, &call, charged, next = std::move(next)](bool succeeded) { check_again(call, charged, succeeded, next); });
}

void CallerGate::check_again(const Call& call, bool charged, bool looked_up, const Next& next) {
  const auth::KnownMatch match = this->match(call);
  if (match.verdict == Verdict::accepted) return accept(call, charged, match.id, next);
  if (!looked_up && match.verdict == Verdict::outdated) return next(look_up_failed("token"));
  if (match.verdict == Verdict::outdated) missed_.add(match.id, steady_clock::now());
  next(refusal_of(call, match.fault));
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

http::Refusal CallerGate::refusal_of(const Call& call, CredentialFault fault) {
  return unauthorized(throttle_, call, fault, clock_.now_us());
}

}  // namespace sluice::server::admin
