#include "server/sync/agent_authenticator.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "server/auth/authenticate.hpp"
#include "server/http/refusal.hpp"
#include "server/sync/agent_auth.hpp"

namespace sluice::server::sync {
namespace {

constexpr std::string_view kNeeded = "Send a valid agent token: Authorization: Bearer slg_….";

http::Refusal unbound(const identity::PodIdentity& pod) {
  return {403, "unbound",
          fmt::format("Service account {} of namespace {} has no binding, so it gets no policies. A platform_admin "
                      "creates one: POST /v1/admin/bindings with "
                      "{{\"namespace\":{},\"service_account\":{},\"tenant_ids\":[…]}}; service_account "
                      "\"*\" binds the whole namespace.",
                      quoted(pod.service_account), quoted(pod.namespace_), quoted(pod.namespace_),
                      quoted(pod.service_account))};
}

}  // namespace

AgentAuthenticator::AuthResult AgentAuthenticator::authenticate(const SyncState& state,
                                                                const Credentials& credentials) {
  const std::string_view token = auth::bearer(credentials.authorization);
  // Sluice's own credentials start with slg_, sla_ or slk_.
  if (!token.starts_with("sl")) {
    if (const auto claims = identity::read_claims(token)) return authenticate_pod(state, credentials, token, *claims);
  }
  TokenMatch match = match_token(*state.tokens, credentials.authorization, clock_.now_us());
  if (match.token) return {.token = std::move(match.token), .query = Query::none};
  if (match.unknown_id && !missed_.contains(match.id, std::chrono::steady_clock::now())) {
    // The token may be newer than the state in memory.
    if (!credentials.queried_postgres) return {.token = nullptr, .query = Query::postgres};
    if (credentials.postgres_answered) missed_.add(match.id, std::chrono::steady_clock::now());
  }
  refuse(credentials, std::string(kNeeded));
}

AgentAuthenticator::AuthResult AgentAuthenticator::authenticate_pod(const SyncState& state,
                                                                    const Credentials& credentials,
                                                                    std::string_view token,
                                                                    const identity::TokenClaims& claims) {
  if (reviewer_ == nullptr) {
    refuse(
        credentials,
        fmt::format("{} This server was started without --kubernetes, so it cannot verify tokens of service accounts.",
                    kNeeded));
  }
  const std::string& audience = reviewer_->options().audience;
  if (!claims.is_for(audience)) {
    refuse(
        credentials,
        fmt::format(
            "The token has the audiences [{1}], but not {0}: give the agent a projected token with the audience {0}.",
            quoted(audience), fmt::join(claims.audiences, ", ")));
  }
  const identity::CachedReviewPtr cached = credentials.review ? credentials.review : reviewer_->cached(token);
  if (!cached) return {.token = nullptr, .query = Query::kubernetes};
  const identity::Review& review = cached->review;
  if (review.outcome == identity::Review::Outcome::failed) {
    throw http::Refusal(503, "unavailable", fmt::format("Kubernetes cannot verify this token now: {}.", review.why), {},
                        "Retry-After: 1\r\n");
  }
  if (review.outcome == identity::Review::Outcome::refused) refuse(credentials, fmt::format("{}.", review.why));
  auto access = token_of_pod(*state.bindings, review.pod, token);
  if (access) return {.token = std::move(access), .query = Query::none};
  // The binding may be newer than the state in memory.
  if (!credentials.queried_postgres) return {.token = nullptr, .query = Query::postgres};
  ++statistics_.auth_failures;
  throw unbound(review.pod);
}

void AgentAuthenticator::review(const Credentials& credentials, identity::Reviewer::Callback callback) {
  const bool suspect = throttle_.is_suspect(credentials.source, clock_.now_us());
  if (suspect && !suspects_.insert(credentials.source).second) throw http::too_many_failures(std::chrono::seconds(1));
  reviewer_->request(
      auth::bearer(credentials.authorization),
      [this, suspect, source = credentials.source, callback = std::move(callback)](identity::CachedReviewPtr review) {
        if (suspect) suspects_.erase(source);
        callback(std::move(review));
      });
}

void AgentAuthenticator::refuse(const Credentials& credentials, std::string why) {
  ++statistics_.auth_failures;
  const auto wait = throttle_.failed(credentials.source, clock_.now_us());
  if (wait.count() > 0) throw http::too_many_failures(wait);
  throw http::Refusal(401, "unauthorized", std::move(why), {}, "WWW-Authenticate: Bearer realm=\"sluice\"\r\n");
}

}  // namespace sluice::server::sync
