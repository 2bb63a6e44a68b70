// The admin API without its HTTP: a database of its own, the schema, a first token, and calls as text.
//
//   AdminRig rig;
//   const admin::FinishedAnswer made = rig.ask("POST", "/v1/admin/organizations", R"({"id":"acme"})");
//   CHECK(made.status == 201);
//   CHECK(at(made, "/id") == "acme");
//
// Not thread-safe: calls run on the caller's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <unistd.h>

#include "common/base/clock.hpp"
#include "common/telemetry/line_writer.hpp"
#include "common/telemetry/log.hpp"
#include "server/admin/executor.hpp"
#include "server/auth/throttle.hpp"
#include "server/postgres/pool.hpp"
#include "tests/integration/support/postgres_server.hpp"

namespace sluice::server::test {

using sluice::test::PostgresServer;
using sluice::test::TestDatabase;

// The wall clock of the server's program in the test's hand; it begins at the true time, which PostgreSQL goes by.
class HandClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now_us_; }
  void advance(std::chrono::microseconds by) { now_us_ += by.count(); }

 private:
  std::int64_t now_us_ = SystemClock().now_us();
};

// Names as in HTTP, lower case: if-match, if-none-match, idempotency-key; content-type application/yaml.
using Headers = std::map<std::string, std::string>;

class AdminRig {
 public:
  // `lock_timeout`: how long a call waits for a row that another transaction holds; then it is answered with 503.
  explicit AdminRig(std::chrono::milliseconds lock_timeout = std::chrono::seconds(2));

  // One call from the token to the commit. `target`: path and query, as sent. Parameters that the route does not have
  // are an error of the test (std::logic_error), and so is a path without route: HTTP refuses both before the executor.
  admin::FinishedAnswer ask(std::string_view method, std::string_view target, std::string_view body = "",
                            const Headers& headers = {});
  admin::FinishedAnswer ask_as(std::string_view token, std::string_view method, std::string_view target,
                               std::string_view body = "", const Headers& headers = {});

  // The same with the cookie of a session instead of a token.
  admin::FinishedAnswer ask_by_session(std::string_view secret, std::string_view method, std::string_view target,
                                       std::string_view body = "");

  // As ask(), for a call that may be given up meanwhile. REQUIRES: progress.begin() was called.
  admin::FinishedAnswer ask_until(admin::CallProgress& progress, std::string_view method, std::string_view target,
                                  std::string_view body = "");

  // A new token with the role and the scope, made through the API by the first one: its text.
  // `scope`: members of the body, R"("organization_id":"acme","tenant_ids":["shop"])".
  std::string token(std::string_view role, std::string_view scope = "");

  // The organization acme with the tenants shop and bank, and the organization other with the tenant kiosk.
  void found_acme();

  const std::string& admin() const { return admin_; }  // the text of the first token, a platform_admin's
  postgres::DatabaseOptions database_options() const;
  // From the next call on: to whom overrides are told.
  void set_publisher(counters::Publisher& publisher) { executor_.set_publisher(publisher); }
  // Statements of the superuser: rows as text, one a line, fields apart by '|'.
  std::string execute(const std::string& sql) const { return database_.execute(sql); }

  HandClock clock;

 private:
  admin::FinishedAnswer run(admin::CallProgress& progress, std::string_view token, std::string_view method,
                            std::string_view target, std::string_view body, const Headers& headers);
  admin::FinishedAnswer run_call(admin::CallProgress& progress, admin::Call& call, std::string_view body);

  TestDatabase database_;
  const std::chrono::milliseconds lock_timeout_;
  telemetry::LineWriter lines_{STDERR_FILENO};
  telemetry::Log log_{lines_, telemetry::LogLevel::error};  // what makes a 500 is seen beside the failed check
  auth::FailureThrottle throttle_;
  postgres::Pool pool_;
  postgres::Session session_{pool_};
  admin::Executor executor_{pool_, throttle_, {}, clock, log_};
  std::string admin_;
  int calls_ = 0;
};

// What stands at a JSON pointer of the answer's body: texts as they are, all else as compact JSON, "(absent)" for
// nothing.
std::string at(const admin::FinishedAnswer& answer, std::string_view pointer);

// The pointers of a problem's errors, with spaces between.
std::string faulty(const admin::FinishedAnswer& answer);

// One member of every item of a list, with spaces between.
std::string each(const admin::FinishedAnswer& answer, std::string_view member);

// The value of a header of the answer, "" where there is none.
std::string header(const admin::FinishedAnswer& answer, std::string_view name);

}  // namespace sluice::server::test
