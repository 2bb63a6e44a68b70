// One call of the admin API: the request, what its handler works with, and the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json/writer.hpp"
#include "server/auth/roles.hpp"
#include "server/counters/rules.hpp"
#include "server/http/answer.hpp"
#include "server/postgres/transaction.hpp"
#include "server/store/change_log.hpp"

namespace sluice::server::counters {
class Publisher;
}

namespace sluice::server::admin {

struct Route;
class TenantSnapshots;

// A request, copied from the connection's buffers.
struct Call {
  const Route* route = nullptr;
  std::vector<std::string> path_values;                    // the values of the {…} in Route::path, decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, names checked against the route
  std::string target;                                      // as sent, for the fingerprint in idempotency.cpp
  std::string body;
  bool yaml = false;  // the body is YAML, not JSON
  std::string authorization;
  std::string if_match;
  std::string if_none_match;
  std::string idempotency_key;
  std::string source;  // the peer's address
  std::string request_id;

  std::string_view parameter(std::string_view name) const {
    for (const auto& [known, value] : query) {
      if (known == name) return value;
    }
    return {};
  }
};

// A secret that exactly one answer shows.
struct Secret {
  std::string_view member;  // its name in the answer: "key" or "token"
  std::string text;
};

// What a handler answers. Either the body is complete (`body`), or it is a JSON object that is still open (`object`):
// the executor adds the members that only it knows and closes the object (answers.hpp).
struct Answer : http::Answer {
  std::optional<json::Writer> object;
  // Becomes a member of the object. If the call is repeated with its Idempotency-Key, that member is null instead.
  std::optional<Secret> secret;
  // If set, the object gets a member "published". The handler sets whether Redis has the changes of earlier calls. The
  // answer shows true if Redis has both these changes and the changes of this call.
  std::optional<bool> published;
  // Above 0: the server repeats the call until an answer has no `wait`, or until this time has passed since the call's
  // arrival.
  std::chrono::milliseconds wait{0};
};

// An answer that is complete.
struct FinishedAnswer : http::Answer {
  FinishedAnswer() = default;
  FinishedAnswer(http::Answer plain) : http::Answer(std::move(plain)) {}  // NOLINT(google-explicit-constructor)

  std::string replay_body;            // the body for a replay: the call repeated with its Idempotency-Key
  std::chrono::milliseconds wait{0};  // as in Answer
};

// Thrown if another call may have changed an object since this call read it. The executor repeats the whole call, and
// answers 409 after the last attempt.
struct ConcurrentChange : std::exception {};

// What a handler works with. The executor records all changes in `log` as one revision after the handler has returned.
struct Context {
  const Call& call;
  const auth::Principal& principal;
  postgres::Transaction& tx;
  store::ChangeLog& log;
  std::int64_t now_us;
  TenantSnapshots& snapshots;
  std::vector<counters::RulesPtr> compiled{};  // Draft::rules (drafts.hpp) of this call's drafts
  counters::Publisher* publisher = nullptr;    // nullptr: the server runs without Redis
  std::vector<counters::CounterRef> resets{};  // counters to be reset after the commit
};

// Throws Refusal, ConcurrentChange, or what libpqxx throws; then the executor rolls the transaction back.
using RouteHandler = Answer (*)(Context&);

}  // namespace sluice::server::admin
