#include "server/counters/expiry.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/store/change_log.hpp"

namespace sluice::server::counters {

std::size_t remove_expired(postgres::Transaction& tx, std::size_t limit) {
  const pqxx::result rows = tx.exec_text(fmt::format(
      "SELECT tenant_id, id FROM overrides WHERE expires_at <= now() ORDER BY tenant_id, id LIMIT {} FOR UPDATE",
      limit));
  store::ChangeLog log;
  for (const auto& row : rows) {
    const auto ended = store::find(tx, Kind::override_, row[0].c_str(), row[1].c_str());
    if (!ended) continue;
    store::remove(tx, ended->key.view());
    log.removed("expire", *ended);
  }
  if (log.empty()) return 0;
  log.record(tx, {.id = "sluice-server", .role = "system", .source = "", .request_id = ""});
  return log.changes().size();
}

}  // namespace sluice::server::counters
