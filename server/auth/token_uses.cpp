#include "server/auth/token_uses.hpp"

#include <pqxx/pqxx>

namespace sluice::server::auth {
namespace {

constexpr std::int64_t kMinuteUs = 60'000'000;
constexpr std::size_t kMaxTokens = 10'000;

}  // namespace

bool TokenUses::is_due(const std::string& token_id, std::int64_t now_us) {
  const std::lock_guard lock(mutex_);
  const auto found = recorded_us_.find(token_id);
  if (found != recorded_us_.end() && now_us >= found->second && now_us - found->second < kMinuteUs) return false;
  if (recorded_us_.size() >= kMaxTokens) recorded_us_.clear();
  recorded_us_[token_id] = now_us;
  return true;
}

void record_use(postgres::Transaction& tx, const std::string& token_id) {
  tx.enter(postgres::Scope::everything(token_id));
  // A crash of PostgreSQL may lose the last of these times, so nobody waits for the disk.
  tx.exec_text("SET LOCAL synchronous_commit TO off");
  tx.exec(
      "UPDATE tokens SET used_at = now() WHERE id IN (SELECT id FROM tokens WHERE id = $1 AND (used_at IS NULL OR "
      "used_at < now() - interval '1 minute') FOR NO KEY UPDATE SKIP LOCKED)",
      token_id);
}

}  // namespace sluice::server::auth
