// Which agent is calling, and what is to be asked before that can be told: out of memory where it is known, else of
// PostgreSQL (a token or a binding that was made a moment ago) or of Kubernetes (who a pod is).
//
// A good token always passes, from any address. An address that has failed too often has one question to Kubernetes at
// a time: it cannot use up what the others need.
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
#include "server/auth/throttle.hpp"
#include "server/identity/reviewer.hpp"
#include "server/identity/token_claims.hpp"
#include "server/sync/statistics.hpp"
#include "server/sync/world.hpp"

namespace sluice::server::sync {

class Callers {
 public:
  Callers(auth::FailureThrottle& throttle, const Clock& clock, SyncStatistics& statistics)
      : throttle_(throttle), clock_(clock), statistics_(statistics) {}

  // Before the first call: from now on tokens of service accounts are taken.
  void review_through(identity::Reviewer& reviewer) { reviewer_ = &reviewer; }

  // What a call shows, and what was asked for it already.
  struct Shown {
    std::string authorization;
    std::string source;
    identity::KnownReviewPtr review = nullptr;
    bool asked_postgres = false;
  };
  enum class Ask : std::uint8_t { nothing, postgres, kubernetes };
  struct Found {
    std::shared_ptr<const AgentToken> token;  // nullptr: `ask` first, and then again
    Ask ask = Ask::nothing;
  };
  // Throws Refusal: 401, 403 (nothing binds the pod), 429, 503 (Kubernetes cannot say).
  Found find(const World& world, const Shown& shown);

  // What Ask::kubernetes asks for. Throws Refusal: 429.
  void review(const Shown& shown, identity::Reviewer::Told told);

 private:
  Found find_pod(const World& world, const Shown& shown, std::string_view token, const identity::TokenClaims& claims);
  [[noreturn]] void refuse(const Shown& shown, std::string why);

  auth::FailureThrottle& throttle_;
  const Clock& clock_;
  SyncStatistics& statistics_;
  identity::Reviewer* reviewer_ = nullptr;
  std::unordered_set<std::string> suspects_;  // of which a question is under way
};

}  // namespace sluice::server::sync
