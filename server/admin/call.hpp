// One call of the admin API: the request, the context of its handler, and the answer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json/writer.hpp"
#include "common/tracing/parent.hpp"
#include "server/admin/followed_fleet.hpp"
#include "server/admin/token_rates.hpp"
#include "server/auth/roles.hpp"
#include "server/counters/rules.hpp"
#include "server/http/answer.hpp"
#include "server/http/request_memory.hpp"
#include "server/playground/check_answer.hpp"
#include "server/postgres/transaction.hpp"
#include "server/sessions/cookie.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::counters {
class Publisher;
}

namespace sluice::server::playground {
struct Setup;
}

namespace sluice::server::webhooks {
struct Setup;
}

namespace sluice::server::admin {

struct Route;
class FleetImages;
class TenantSnapshots;

struct Call {
  const Route* route = nullptr;
  std::vector<std::string> path_values;                    // the values of the {…} in Route::path, decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, names checked against the route
  std::string target;                                      // as sent
  std::string body;
  std::size_t body_bytes = 0;  // of the body; before it is read, what the head announces, 0 if it does not say
  // What this call has set aside; never nullptr once the call was read.
  http::RequestMemory::SharePtr memory = {};
  bool yaml = false;  // whether the body is YAML
  std::string authorization;
  sessions::Presented session;  // empty if the call has an Authorization header, which counts instead
  bool secure_cookie = false;   // whether cookies are for TLS only (sessions::Site)
  bool has_api_key = false;     // whether the header x-api-key was sent, which is for checks
  std::string if_match;
  std::string if_none_match;
  std::string idempotency_key;
  std::string last_event_id;  // of an event stream that the caller had before
  std::string source;         // the peer's address
  std::string request_id;
  std::string resumed = {};  // Answer::resume of the attempt before; "": this is the first attempt
  tracing::Parent trace;     // of the spans of its statements

  std::string_view parameter(std::string_view name) const {
    for (const auto& [known, value] : query) {
      if (known == name) return value;
    }
    return {};
  }
};

// A secret that exactly one answer shows.
struct Secret {
  std::string_view member;  // "key" or "token"
  std::string text;
};

// What a handler answers: a complete `body`, or a JSON `object` that is still open. The executor completes the object
// (answers.hpp).
struct Answer : http::Answer {
  std::optional<json::Writer> object;
  std::string secret_headers = {};  // complete header lines that only this answer has, never a replay
  std::optional<Secret> secret;     // becomes a member of the object; in FinishedAnswer::replay_body the member is null
  // If set, the object gets a member "published": true if Redis has all changes. The handler sets false if Redis lacks
  // a change of an earlier call; the executor answers false if Redis lacks a change of this call.
  std::optional<bool> published;
  // How long the call may wait, counted from its arrival. The server repeats the call until this time is over or an
  // answer has `wait` 0.
  std::chrono::milliseconds wait{0};
  // If set, the answer is that of the playground's agent to this check, which the service asks after the transaction.
  std::optional<playground::AgentCheck> agent_check = {};
  std::string resume = {};  // names, for the next attempt, what this one began
  // If set, the answer is an event stream (event_streams.hpp), or goes on with one.
  std::optional<FollowedFleet> fleet = {};
};

struct FinishedAnswer : http::Answer {
  FinishedAnswer() = default;
  FinishedAnswer(http::Answer plain) : http::Answer(std::move(plain)) {}  // NOLINT(google-explicit-constructor)

  std::string secret_headers;  // as Answer::secret_headers
  std::string replay_body;     // the body if the caller repeats the call with the same Idempotency-Key
  std::chrono::milliseconds wait{0};
  std::optional<playground::AgentCheck> agent_check = {};
  std::string resume = {};
  std::optional<FollowedFleet> fleet = {};
};

// Another call may have changed an object since this call read it. The executor repeats the call, and answers 409 after
// the last attempt.
struct ConcurrentChange : std::exception {};

// `log` collects the handler's changes. After the handler has returned, the executor records them as one revision.
struct Context {
  const Call& call;
  const auth::Principal& principal;
  postgres::Transaction& tx;
  store::ChangeLog& log;
  std::int64_t now_us;
  TenantSnapshots& snapshots;
  FleetImages& fleet_images;
  TokenRates::PerSecond default_rates;            // of tokens without a quota
  std::vector<counters::RulesPtr> compiled{};     // Draft::rules (drafts.hpp) of this call's drafts
  counters::Publisher* publisher = nullptr;       // nullptr if the server runs without Redis
  std::vector<counters::CounterRef> resets{};     // counters to reset after the commit
  const webhooks::Setup* webhooks = nullptr;      // nullptr if the server runs without webhooks to customers
  const playground::Setup* playground = nullptr;  // nullptr if the server runs without a playground
  bool wrote_rows = false;                        // rows that `log` does not name, and that must be committed
};

// Throws Refusal, ConcurrentChange, or what libpqxx throws; then the executor rolls the transaction back.
using RouteHandler = Answer (*)(Context&);

}  // namespace sluice::server::admin
