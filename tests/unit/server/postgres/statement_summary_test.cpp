// What spans say of statements: which tables they read and write, and no value.
#include <doctest/doctest.h>

#include <string>

#include "server/postgres/statement_summary.hpp"

namespace sluice::server::postgres {
namespace {

TEST_CASE("a statement that reads is summed up by its tables") {
  CHECK(summary_of("SELECT id, document FROM policies WHERE tenant_id = $1 FOR UPDATE") == "SELECT policies");
  CHECK(summary_of("select t.id from plans t JOIN tenants USING (id)") == "SELECT plans tenants");
  CHECK(summary_of("SELECT count(*) FROM outbox") == "SELECT outbox");
  CHECK(summary_of("SELECT a FROM t UNION SELECT b FROM t") == "SELECT t");
}

TEST_CASE("a FROM that names no table is left out") {
  CHECK(summary_of("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint") == "SELECT");
  CHECK(summary_of("SELECT extract(epoch FROM made_at) FROM revision") == "SELECT revision");
  CHECK(summary_of("SELECT x FROM unnest($1::text[]) WHERE x IS DISTINCT FROM $2") == "SELECT");
  CHECK(summary_of("SELECT x FROM (SELECT y FROM inner_table) AS z") == "SELECT inner_table");
}

TEST_CASE("a statement that writes is summed up by its writes") {
  CHECK(summary_of("INSERT INTO policies (id) VALUES ($1) ON CONFLICT DO UPDATE SET id = $1") == "INSERT policies");
  CHECK(summary_of("UPDATE revision SET revision = revision + 1 RETURNING revision") == "UPDATE revision");
  CHECK(summary_of("DELETE FROM outbox WHERE id = $1") == "DELETE outbox");
  CHECK(summary_of("WITH entry AS (SELECT * FROM unnest($1::text[])), v AS (INSERT INTO versions SELECT * FROM entry), "
                   "m AS (UPDATE audit_heads h SET seq = 1 FROM entry) SELECT pg_notify('x', $2)") ==
        "INSERT versions UPDATE audit_heads");
}

TEST_CASE("names that WITH gives to subqueries are no tables") {
  CHECK(summary_of("WITH live AS (SELECT id FROM agents) SELECT count(*) FROM live") == "SELECT agents");
}

TEST_CASE("other statements are summed up by their first word") {
  CHECK(summary_of("SET LOCAL sluice.organization TO 'acme';SET LOCAL sluice.tenants TO 'shop';") == "SET");
  CHECK(summary_of("SAVEPOINT dry_run") == "SAVEPOINT");
  CHECK(summary_of("commit") == "COMMIT");
  CHECK(summary_of("").empty());
  CHECK(summary_of("  -- nothing").empty());
}

TEST_CASE("no literal, quoted name, number or comment gets into a summary") {
  for (const std::string hidden :
       {"'FROM hidden'", "'it''s FROM hidden'", "E'\\' FROM hidden'", "$$ FROM hidden $$", "$a$ FROM hidden $a$",
        "/* FROM hidden */ 1", "-- FROM hidden\n 1", "\"FROM hidden\""}) {
    CAPTURE(hidden);
    const std::string summary = summary_of("SELECT " + hidden + ", 1 FROM shown");
    CHECK(summary.find("hidden") == std::string::npos);
    CHECK(summary.starts_with("SELECT"));
  }
  CHECK(summary_of("SELECT x FROM t WHERE id = 'secret' AND n = 4711").find("4711") == std::string::npos);
}

TEST_CASE("a summary has at most 255 bytes and whole names") {
  std::string sql = "SELECT x FROM first_table";
  for (int i = 0; i < 100; ++i) sql += " JOIN a_table_with_a_long_name_" + std::to_string(i) + " ON true";
  const std::string summary = summary_of(sql);
  CHECK(summary.size() <= kMaxSummaryBytes);
  CHECK(summary.size() > 200);
  const std::size_t last = summary.rfind(' ');
  CHECK(sql.find(summary.substr(last) + " ON") != std::string::npos);
}

TEST_CASE("the operation is the first keyword") {
  CHECK(operation_of("INSERT versions INSERT audit") == "INSERT");
  CHECK(operation_of("COMMIT") == "COMMIT");
}

}  // namespace
}  // namespace sluice::server::postgres
