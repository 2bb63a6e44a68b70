#include "server/sync/callers.hpp"

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

constexpr std::string_view kNeeded = "A valid agent token is needed: Authorization: Bearer slg_….";

http::Refusal too_many(std::int64_t seconds) {
  return {429,
          "too-many-failures",
          "Too many failed authentications from this address; a good token still works.",
          {},
          fmt::format("Retry-After: {}\r\n", seconds)};
}

http::Refusal unbound(const identity::PodIdentity& pod) {
  return {
      403, "unbound",
      fmt::format("No binding says whose policies service account {} of namespace {} gets. A platform_admin makes "
                  "one: POST /v1/admin/bindings with {{\"namespace\":{},\"service_account\":{},\"tenant_ids\":[…]}}; "
                  "service_account \"*\" is for all of the namespace.",
                  quoted(pod.service_account), quoted(pod.namespace_), quoted(pod.namespace_),
                  quoted(pod.service_account))};
}

}  // namespace

Callers::Found Callers::find(const World& world, const Shown& shown) {
  const std::string_view token = auth::bearer(shown.authorization);
  if (!token.starts_with("sl")) {
    if (const auto claims = identity::read_claims(token)) return find_pod(world, shown, token, *claims);
  }
  Proof proof = prove(*world.tokens, shown.authorization, clock_.now_us());
  if (proof.token) return {.token = std::move(proof.token), .ask = Ask::nothing};
  // The binding may be newer than the state in memory.
  if (proof.unknown_id && !shown.asked_postgres) return {.token = nullptr, .ask = Ask::postgres};
  refuse(shown, std::string(kNeeded));
}

Callers::Found Callers::find_pod(const World& world, const Shown& shown, std::string_view token,
                                 const identity::TokenClaims& claims) {
  if (reviewer_ == nullptr) {
    refuse(shown, fmt::format("{} This server was started without --kubernetes, and cannot tell who has the token of a "
                              "service account.",
                              kNeeded));
  }
  const std::string& audience = reviewer_->options().audience;
  if (!claims.is_for(audience)) {
    refuse(shown, fmt::format("This token is not for the audience {}, but for [{}]: give the agent a projected token "
                              "with that audience.",
                              quoted(audience), fmt::join(claims.audiences, ", ")));
  }
  const identity::KnownReviewPtr known = shown.review ? shown.review : reviewer_->known(token);
  if (!known) return {.token = nullptr, .ask = Ask::kubernetes};
  const identity::Review& review = known->review;
  if (review.outcome == identity::Review::Outcome::away) {
    throw http::Refusal(503, "unavailable", fmt::format("Who has this token cannot be told now. {}.", review.why), {},
                        "Retry-After: 1\r\n");
  }
  if (review.outcome == identity::Review::Outcome::bad) refuse(shown, fmt::format("{}.", review.why));
  auto pass = pass_of(*world.bindings, review.pod, token);
  if (pass) return {.token = std::move(pass), .ask = Ask::nothing};
  if (!shown.asked_postgres) return {.token = nullptr, .ask = Ask::postgres};
  ++statistics_.refused;
  throw unbound(review.pod);
}

void Callers::review(const Shown& shown, identity::Reviewer::Told told) {
  const bool suspect = throttle_.is_suspect(shown.source, clock_.now_us());
  if (suspect && !suspects_.insert(shown.source).second) throw too_many(1);
  reviewer_->ask(auth::bearer(shown.authorization),
                 [this, suspect, source = shown.source, told = std::move(told)](identity::KnownReviewPtr known) {
                   if (suspect) suspects_.erase(source);
                   told(std::move(known));
                 });
}

void Callers::refuse(const Shown& shown, std::string why) {
  ++statistics_.refused;
  const auto wait = throttle_.failed(shown.source, clock_.now_us());
  if (wait.count() > 0) throw too_many(wait.count());
  throw http::Refusal(401, "unauthorized", std::move(why), {}, "WWW-Authenticate: Bearer realm=\"sluice\"\r\n");
}

}  // namespace sluice::server::sync
