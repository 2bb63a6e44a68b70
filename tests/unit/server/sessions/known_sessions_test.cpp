// Sessions in memory, and the look-ups of others. The test plays PostgreSQL.
#include "server/sessions/known_sessions.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace sluice::server::sessions {
namespace {

class SetClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now; }
  std::int64_t now = 1'700'000'000'000'000;
};

struct Memory {
  // Looks up all of these at once. Returns how many were told that PostgreSQL was read.
  int look_up(const std::vector<std::string>& hashes) {
    int succeeded = 0;
    for (const std::string& hash : hashes) {
      known.look_up(hash, [&succeeded](bool read) { succeeded += read ? 1 : 0; });
    }
    loop.restart();
    loop.run();
    return succeeded;
  }

  SetClock clock;
  boost::asio::io_context loop;
  std::set<std::string> stored;
  std::vector<std::size_t> reads;  // how many were asked for in each
  KnownSessions known{loop,
                      [this](std::vector<std::string> hashes, const KnownSessions::Found& found) {
                        reads.push_back(hashes.size());
                        std::vector<Session> sessions;
                        for (const std::string& hash : hashes) {
                          if (stored.contains(hash)) {
                            sessions.push_back({.hash = hash, .token_id = "t", .expires_at_us = clock.now + 1'000});
                          }
                        }
                        found(std::move(sessions));
                      },
                      clock};
};

TEST_CASE("one read serves all calls that wait, and tells those that exist from those that do not") {
  Memory memory;
  memory.stored = {"a"};
  CHECK(memory.look_up({"a", "b", "a"}) == 3);
  CHECK(memory.reads == std::vector<std::size_t>{2});
  REQUIRE(memory.known.find("a") != nullptr);
  CHECK(memory.known.find("a")->token_id == "t");
  CHECK(memory.known.find("b") == nullptr);
  CHECK(memory.known.is_missed("b"));
  CHECK_FALSE(memory.known.is_missed("a"));
}

TEST_CASE("one read asks for a bounded number of sessions, and calls beyond it are told to try again") {
  Memory memory;
  std::vector<std::string> flood;
  for (std::size_t i = 0; i < KnownSessions::kMaxPerRead + 5; ++i) flood.push_back(std::to_string(i));
  CHECK(memory.look_up(flood) == static_cast<int>(KnownSessions::kMaxPerRead));
  CHECK(memory.reads == std::vector<std::size_t>{KnownSessions::kMaxPerRead});
  CHECK_FALSE(memory.known.is_missed(flood.back()));
}

TEST_CASE("expired sessions leave the memory") {
  Memory memory;
  memory.stored = {"a", "b"};
  memory.look_up({"a"});
  memory.clock.now += 1'000;
  memory.look_up({"b"});
  CHECK(memory.known.find("a") == nullptr);
  CHECK(memory.known.find("b") != nullptr);
}

}  // namespace
}  // namespace sluice::server::sessions
