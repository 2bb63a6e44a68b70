// One call of the admin API on its way: what came in, who is asking, what goes out.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// Everything of a request that outlives the connection's buffers.
struct Call {
  const Route* route = nullptr;
  std::vector<std::string> path_values;                    // of the template's {…}, decoded
  std::vector<std::pair<std::string, std::string>> query;  // decoded, names checked against the route
  std::string target;                                      // as sent, for the idempotency key's fingerprint
  std::string body;
  bool yaml = false;  // the body
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

struct Answer : http::Answer {
  Answer() = default;
  Answer(http::Answer plain) : http::Answer(std::move(plain)) {}  // NOLINT(google-explicit-constructor)

  // Of an answer that shows a secret: what a replay of the call shows instead.
  std::optional<std::string> body_without_secret;
  // Of an answer that says whether Redis knows: whether it knew what was written before. What this call wrote is seen
  // to after the commit; then the body gets its member "published".
  std::optional<bool> published;
  // Of a call that may wait: it is made again until so long after its arrival, for an answer that says nothing here.
  std::chrono::milliseconds wait{0};
};

// Everything that was read before it may be stale: the whole call is to be done again. Answered 409 when that does not
// help.
struct Raced : std::exception {};

// What a handler works with. Everything it changes through `log` becomes one revision after it returns.
struct Context {
  const Call& call;
  const auth::Principal& principal;
  postgres::Transaction& tx;
  store::ChangeLog& log;
  std::int64_t now_us;
  TenantSnapshots& snapshots;
  counters::Publisher* publisher = nullptr;    // to Redis; nullptr: the server was told of none
  std::vector<counters::CounterRef> resets{};  // counters to be reset after the commit
};

// Throws Refusal, Raced, or what libpqxx throws; nothing of what it did remains then.
using RouteHandler = Answer (*)(Context&);

}  // namespace sluice::server::admin
