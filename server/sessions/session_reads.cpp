#include "server/sessions/session_reads.hpp"

#include <exception>
#include <optional>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/postgres/failure.hpp"
#include "server/postgres/transaction.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::sessions {

// What waits for the sessions belongs to the loop, so the job hands `found` back to it and keeps no copy.
void read_on(postgres::Pool& pool, boost::asio::io_context& loop, std::vector<std::string> hashes,
             KnownSessions::Found found) {
  postgres::Pool::Job job([&loop, hashes = std::move(hashes), found](postgres::Session& session) mutable {
    std::optional<std::vector<Session>> sessions;
    try {
      if (pqxx::connection* const connection = session.connection()) {
        postgres::Transaction tx(*connection);
        tx.enter(postgres::Scope::everything("sessions"));
        sessions = read(tx, hashes);
      }
    } catch (const std::exception& error) {
      if (postgres::classify(error) == postgres::FailureClass::away) session.drop();
    }
    boost::asio::post(loop, [found = std::move(found), sessions = std::move(sessions)] { found(sessions); });
  });
  if (!pool.submit(job)) boost::asio::post(loop, [found = std::move(found)] { found(std::nullopt); });
}

}  // namespace sluice::server::sessions
