// Checks the token or the session of each admin call in memory, before the call takes a thread of the pool. So calls
// without a valid one cost PostgreSQL at most the look-ups of auth::TokenLookups and sessions::KnownSessions, and delay
// nobody. A session is checked as its token is, and its calls count as its token's. Of a session that stands for a
// person, only its transaction knows whether the group mapping still grants something; its calls count as the person's.
//
// Also limits how many calls a second a token makes, to the quota of its tenant or organization if one is set.
//
// Until the first tokens have been read, all calls pass; their transactions authenticate them.
// Thread: the event loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/clock.hpp"
#include "server/admin/call.hpp"
#include "server/admin/token_rates.hpp"
#include "server/auth/known_tokens.hpp"
#include "server/auth/missed_ids.hpp"
#include "server/auth/throttle.hpp"
#include "server/auth/token_lookups.hpp"
#include "server/auth/token_quotas.hpp"
#include "server/http/refusal.hpp"
#include "server/playground/visitors.hpp"
#include "server/sessions/known_sessions.hpp"

namespace sluice::server::admin {

// Counts a failed authentication of `call`. Returns 401 with the fault as its code, or 429 if too many have failed.
// `now_us`: Unix time in µs.
http::Refusal unauthorized(auth::FailureThrottle& throttle, const Call& call, CredentialFault fault,
                           std::int64_t now_us);

class CallerGate {
 public:
  // nullopt: the call may go on.
  using Next = std::function<void(std::optional<http::Refusal> refusal)>;

  // REQUIRES: the references outlive this object.
  CallerGate(auth::TokenLookups& lookups, sessions::KnownSessions& sessions, auth::FailureThrottle& throttle,
             TokenRates& rates, const Clock& clock)
      : lookups_(lookups), sessions_(sessions), throttle_(throttle), rates_(rates), clock_(clock) {}

  void set_tokens(auth::KnownTokensPtr tokens, auth::KnownQuotasPtr quotas) {
    tokens_ = std::move(tokens);
    quotas_ = std::move(quotas);
  }

  // Lets calls of open routes pass, at the rates of `visitors`. Without it, they are refused.
  void admit_visitors(playground::Visitors& visitors) { visitors_ = &visitors; }

  // Calls `next` once: at once, or after a look-up. `charged`: the call was counted before, when the server asked
  // whether to read its body. REQUIRES: `call` lives until then.
  void check(const Call& call, bool charged, Next next);

 private:
  std::optional<http::Refusal> refusal_of_visitor(const Call& call, bool charged);
  void look_up_session(const Call& call, bool charged, Next next);
  void check_token(const Call& call, bool charged, Next next);
  const sessions::Session* session_of_person(const Call& call) const;
  void check_person(const Call& call, bool charged, const sessions::Session& session, const Next& next);
  auth::KnownMatch match(const Call& call) const;
  void check_again(const Call& call, bool charged, bool looked_up, const Next& next);
  void accept(const Call& call, bool charged, std::string_view token_id, const Next& next);
  std::optional<auth::KnownQuotas::Found> rate_quota(std::string_view token_id, bool writes) const;
  http::Refusal refusal_of(const Call& call, CredentialFault fault);

  auth::TokenLookups& lookups_;
  sessions::KnownSessions& sessions_;
  auth::FailureThrottle& throttle_;
  TokenRates& rates_;
  const Clock& clock_;
  auth::KnownTokensPtr tokens_;  // nullptr: not read yet
  auth::KnownQuotasPtr quotas_;  // nullptr: as tokens_
  auth::MissedIds missed_;
  playground::Visitors* visitors_ = nullptr;
};

}  // namespace sluice::server::admin
