// A database with the server's schema and some organizations, written by the server's own functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pqxx/connection>

#include "server/postgres/pool.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"
#include "tests/integration/support/postgres_server.hpp"

namespace sluice::test {

// Organization acme has the tenants shop and lab, globex has mill. Each row of their trails:
//   (platform) 1 the settings                 acme 1 the organization, 2 shop, 3 lab      globex 1, 2
class Store {
 public:
  Store();

  const TestDatabase& database() const { return database_; }
  std::string url(std::string_view role = "sluice_app") const { return database_.url(role); }
  // As a superuser, whom nothing holds back: who tampers. Rows as text.
  std::string tamper(const std::string& sql) const { return database_.execute(sql); }

 private:
  TestDatabase database_;
};

ObjectId plan_key(std::string_view tenant_id, std::string_view id);
std::string plan_document(std::string_view id, int limit);

// A connection that writes: each call is one transaction and one revision. Not thread-safe.
class Writer {
 public:
  explicit Writer(const std::string& url, std::chrono::milliseconds lock_timeout = std::chrono::seconds(30));

  server::store::Revision create(const ObjectId& key, const std::string& organization_id, const std::string& document);
  server::store::Revision create_plan(std::string_view tenant_id, std::string_view id, int limit);
  server::store::Revision update(const ObjectId& key, const std::string& document);
  server::store::Revision remove(const ObjectId& key);

  // Several changes at once: `change` makes them, and whoever reads along.
  server::store::Revision write(
      const std::function<void(server::postgres::Transaction&, server::store::ChangeLog&)>& change);

  pqxx::connection& connection() { return *connection_; }

 private:
  std::unique_ptr<pqxx::connection> connection_;
};

// The same inside a transaction; they lock the row.
void create_in(server::postgres::Transaction& tx, server::store::ChangeLog& log, const ObjectId& key,
               const std::string& organization_id, const std::string& document);
void update_in(server::postgres::Transaction& tx, server::store::ChangeLog& log, const ObjectId& key,
               const std::string& document);
void remove_in(server::postgres::Transaction& tx, server::store::ChangeLog& log, const ObjectId& key);

}  // namespace sluice::test
