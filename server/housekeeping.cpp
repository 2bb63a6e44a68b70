#include "server/housekeeping.hpp"

#include <exception>

#include "server/admin/idempotency.hpp"
#include "server/fleet/fleet_store.hpp"
#include "server/oidc/sign_in_store.hpp"
#include "server/postgres/transaction.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server {
namespace {

constexpr std::chrono::minutes kEvery{10};

}  // namespace

void Housekeeping::run() {
  postgres::Pool::Job job([this](postgres::Session& session) {
    pqxx::connection* const connection = session.connection();
    if (connection == nullptr) return;
    try {
      run_on(*connection);
    } catch (const std::exception&) {
      // The next run tries again.
    }
  });
  pool_.submit(job);
  sync_.tidy();
  timer_.expires_after(kEvery);
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) run();
  });
}

void Housekeeping::run_on(pqxx::connection& connection) {
  {
    postgres::Transaction tx(connection);
    tx.enter(postgres::Scope::everything("tidy"));
    admin::delete_old_answers(tx);
    sessions::delete_expired(tx, clock_.now_us());
    oidc::delete_expired_sign_ins(tx, clock_.now_us());
    fleet::tidy_fleet(tx, analytics_retention_);
    tx.commit();
  }
  retention_.run(connection);
}

}  // namespace sluice::server
