// Sessions in memory, so that a call by session costs PostgreSQL no more than a call by token. A session that is not in
// memory is looked up: one read serves all calls that wait, at most 20 a second (auth::TokenLookups).
//
// A session that ended stays here until it would have expired. Its calls are refused by their transactions
// (session_store.hpp), as those of a token that was just revoked.
//
// Thread: the event loop's; any thread may read the statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "server/auth/missed_ids.hpp"
#include "server/auth/token_lookups.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::sessions {

class KnownSessions {
 public:
  using Found = std::function<void(std::optional<std::vector<Session>> sessions)>;  // nullopt: PostgreSQL is away
  // Reads these sessions and calls `found` on the loop.
  using Read = std::function<void(std::vector<std::string> hashes, Found found)>;

  static constexpr std::size_t kMaxPerRead = 1'000;

  KnownSessions(boost::asio::io_context& loop, Read read, const Clock& clock)
      : read_(std::move(read)),
        clock_(clock),
        lookups_(loop, [this](auth::TokenLookups::Done done) { read_wanted(std::move(done)); }) {}

  // nullptr: not in memory. Valid until the next look-up is done. May have expired.
  const Session* find(std::string_view hash) const;

  // Whether PostgreSQL did not have this session a moment ago.
  bool is_missed(std::string_view hash);

  // Calls `done` after a look-up. done(false): PostgreSQL cannot be read, or too many wait; never from inside
  // look_up().
  void look_up(const std::string& hash, auth::TokenLookups::Done done);

  const auth::TokenLookups::Statistics& statistics() const { return lookups_.statistics(); }

 private:
  void read_wanted(auth::TokenLookups::Done done);
  void keep(const std::vector<std::string>& asked, std::vector<Session> found);

  const Read read_;
  const Clock& clock_;
  std::map<std::string, Session, std::less<>> sessions_;  // by hash
  std::set<std::string> wanted_;                          // hashes for the next read
  auth::MissedIds missed_;
  auth::TokenLookups lookups_;
};

}  // namespace sluice::server::sessions
