#include "server/sync/retention.hpp"

#include <fmt/core.h>

#include "server/postgres/transaction.hpp"

namespace sluice::server::sync {

void Retention::run(pqxx::connection& connection) {
  std::int64_t removed = 0;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    postgres::Transaction tx(connection);
    tx.enter(postgres::Scope::everything("retention"));
    const pqxx::result rows = tx.exec("SELECT forget_changes($1, $2::interval, $3)", options_.kept,
                                      fmt::format("{} microseconds", options_.age.count()), kBatch);
    const auto more = rows[0][0].as<std::int64_t>();
    tx.commit();
    if (more == 0) break;
    removed += more;
    statistics_.forgotten += static_cast<std::uint64_t>(more);
  }
  if (removed == 0) return;
  log_.info("changes_forgotten", "Old revisions were removed from the tables that agents are served from.",
            {{"revisions", removed}});
}

}  // namespace sluice::server::sync
