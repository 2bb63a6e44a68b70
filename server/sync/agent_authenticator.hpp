// Authenticates agents from memory. If memory does not suffice, authenticate() returns what to query first: PostgreSQL
// (for a new token or binding) or Kubernetes (a TokenReview, for the identity of a pod).
//
// A valid token is accepted from any address, also after failures. An address that has failed too often may have only
// one review by Kubernetes in flight.
//
// Thread: the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "common/base/clock.hpp"
#include "server/auth/missed_ids.hpp"
#include "server/auth/throttle.hpp"
#include "server/identity/reviewer.hpp"
#include "server/identity/token_claims.hpp"
#include "server/sync/statistics.hpp"
#include "server/sync/sync_state.hpp"

namespace sluice::server::sync {

class AgentAuthenticator {
 public:
  AgentAuthenticator(auth::FailureThrottle& throttle, const Clock& clock, SyncStatistics& statistics)
      : throttle_(throttle), clock_(clock), statistics_(statistics) {}

  // Accepts tokens of service accounts, which Kubernetes verifies. REQUIRES: called before the first request.
  void review_through(identity::Reviewer& reviewer) { reviewer_ = &reviewer; }

  struct Credentials {
    std::string authorization;
    std::string source;                          // the sender's address
    identity::CachedReviewPtr review = nullptr;  // nullptr: Kubernetes was not queried
    bool queried_postgres = false;
    bool postgres_answered = false;  // the query succeeded
  };
  enum class Query : std::uint8_t { none, postgres, kubernetes };
  struct AuthResult {
    std::shared_ptr<const AgentToken> token;  // nullptr: the caller must query first, then call authenticate() again
    Query query = Query::none;
  };
  // Throws Refusal: 401, 403 (no binding matches the pod), 429, 503 (Kubernetes does not answer).
  AuthResult authenticate(const SyncState& state, const Credentials& credentials);

  // Throws Refusal: 429.
  void review(const Credentials& credentials, identity::Reviewer::Callback callback);

 private:
  AuthResult authenticate_pod(const SyncState& state, const Credentials& credentials, std::string_view token,
                              const identity::TokenClaims& claims);
  [[noreturn]] void refuse(const Credentials& credentials, std::string why);

  auth::FailureThrottle& throttle_;
  const Clock& clock_;
  SyncStatistics& statistics_;
  identity::Reviewer* reviewer_ = nullptr;
  auth::MissedIds missed_;                    // ids of agent tokens
  std::unordered_set<std::string> suspects_;  // addresses that failed too often and have a review in flight
};

}  // namespace sluice::server::sync
