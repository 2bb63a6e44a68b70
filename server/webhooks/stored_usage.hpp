// Stored usage of the tenants that have webhooks, for detect() and detect_quotas().
//
// Reading it costs PostgreSQL something, so the servers take turns. The one row of webhook_looks says which tenants
// come next. A server locks the row, looks at tenants for a moment, and moves the row on, in one short transaction.
// However many servers and tenants there are, PostgreSQL does the work of one of them; with many tenants a round takes
// longer.
//
// Every function works in the scope of `tx` and throws what libpqxx throws.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/postgres/transaction.hpp"
#include "server/webhooks/event.hpp"

namespace sluice::server::webhooks {

// Bounds of what is read of one tenant in a turn. Of more usage than that, only the newest minutes count.
inline constexpr std::size_t kMaxUsageRows = 500'000;
inline constexpr std::size_t kMaxQuotas = 200;
// Of all tenants in a turn; more than one tenant may have.
inline constexpr std::size_t kMaxWebhooksATurn = 1'000;

// The least time between the begins of two turns, of whichever servers.
struct Pace {
  std::chrono::milliseconds within_round;
  std::chrono::milliseconds between_rounds;
};

struct WatchedTenant {
  std::string id;
  std::vector<Watched> webhooks;  // those that are enabled and ask for events
};

struct Turn {
  std::vector<WatchedTenant> tenants;  // sorted by id
  bool ends_round = false;             // no tenant follows the last one
  Seconds now;                         // PostgreSQL's time
};
// nullopt: another server has its turn, or the pace says that none is due.
std::optional<Turn> take_turn(postgres::Transaction& tx, const Pace& pace);
// `after`: the last tenant that was looked at; "": the round has ended.
void end_turn(postgres::Transaction& tx, std::string_view after);

struct TenantUsage {
  std::vector<MinuteCount> counts;  // only of minutes that can make an event
  std::vector<QuotaCount> quotas;   // those that were not returned before
};
// `tx` must also add the events of the quotas.
TenantUsage read_usage(postgres::Transaction& tx, const WatchedTenant& tenant, std::size_t max_rows = kMaxUsageRows);

}  // namespace sluice::server::webhooks
