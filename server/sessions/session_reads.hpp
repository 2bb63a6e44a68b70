// Reads the sessions that are not in memory (known_sessions.hpp) from PostgreSQL.
#pragma once

#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "server/postgres/pool.hpp"
#include "server/sessions/known_sessions.hpp"

namespace sluice::server::sessions {

// Reads these sessions on a thread of the pool, and calls `found` on the loop; with nullopt also if too many jobs wait.
void read_on(postgres::Pool& pool, boost::asio::io_context& loop, std::vector<std::string> hashes,
             KnownSessions::Found found);

}  // namespace sluice::server::sessions
