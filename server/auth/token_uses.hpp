// Records when admin tokens were last used: at most once a minute for each token, however many calls it makes.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "server/postgres/transaction.hpp"

namespace sluice::server::auth {

class TokenUses {
 public:
  // Whether a use must be recorded now. If so, the next minute's uses of this token need not be, on this server.
  // `now_us`: Unix time in µs; a clock that was set back counts as a minute later.
  bool is_due(const std::string& token_id, std::int64_t now_us);

 private:
  std::mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> recorded_us_;  // bounded: forgotten as a whole
};

// Writes the time unless another server has written it within the last minute, or another transaction holds the row. So
// it never waits for a lock. Does not commit. Throws what libpqxx throws.
void record_use(postgres::Transaction& tx, const std::string& token_id);

}  // namespace sluice::server::auth
