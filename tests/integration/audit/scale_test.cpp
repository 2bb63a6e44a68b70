// How long it takes to verify a long trail, and in how much memory. Filling takes longer than all other tests, and a
// sanitizer would distort the time: `scripts/test --long` runs it, on the release build.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/audit/verify.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

constexpr int kOrganizations = 20;
constexpr int kPlans = 500;  // of each, in one tenant
constexpr int kVersions = 100;

std::string name(std::string_view what, int number) { return fmt::format("{}-{}", what, number); }

std::string document(int plan, int version) {
  return fmt::format(
      R"({{"tenant_id":"a-tenant","id":"{}","name":"A plan of ordinary size","limits":[{{"name":"burst",)"
      R"("algorithm":"token_bucket","capacity":{},"refill_per_sec":20}},{{"name":"monthly","algorithm":)"
      R"("quota","limit":1000000,"period":"month"}}]}})",
      name("plan", plan), version);
}

ObjectId key_of(int organization, int plan) { return {Kind::plan, name("tenant", organization), name("plan", plan)}; }

// Each version of all plans in one revision, as an apply of many objects would be.
void fill(const Store& store) {
  for (int i = 0; i < kOrganizations; ++i) {
    Writer writer(store.url());
    const std::string organization = name("org", i);
    writer.create({Kind::organization, "", organization}, organization, "{}");
    writer.create({Kind::tenant, name("tenant", i), name("tenant", i)}, organization, "{}");
  }
  const auto connection =
      server::postgres::connect({.url = store.url(), .statement_timeout = std::chrono::seconds(600)});
  for (int version = 1; version <= kVersions; ++version) {
    server::postgres::Transaction tx(*connection);
    tx.enter(server::postgres::Scope::everything("filler"));
    server::store::ChangeLog log;
    for (int organization = 0; organization < kOrganizations; ++organization) {
      for (int plan = 0; plan < kPlans; ++plan) {
        std::optional<std::string> before;
        if (version > 1) before = document(plan, version - 1);
        log.add({.action = version > 1 ? "update" : "create",
                 .key = key_of(organization, plan),
                 .organization_id = name("org", organization),
                 .version = version,
                 .before = before,
                 .after = document(plan, version)});
      }
    }
    log.record(tx, {.id = "token-filler", .role = "platform_admin", .source = "192.0.2.1", .request_id = "r"});
    tx.commit();
  }
  store.tamper(
      "INSERT INTO plans (organization_id, tenant_id, id, version, document) SELECT organization_id, tenant_id, id, "
      "version, document FROM versions WHERE kind = 'plan' AND version = " +
      std::to_string(kVersions));
  store.tamper("VACUUM ANALYZE");
}

std::string peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM")) return line.substr(line.find_first_not_of(" \t", 6));
  }
  return "unknown";
}

}  // namespace

TEST_CASE("a million rows verify in less than 20 s" * doctest::skip() * doctest::timeout(1800)) {
  Store store;
  fill(store);
  const std::string memory = peak_memory();
  const auto connection = server::postgres::connect({.url = store.url()});
  const auto begin = std::chrono::steady_clock::now();
  const auto report = server::audit::verify(*connection);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(report.good());
  CHECK(report.rows > 1'000'000);
  CHECK(took.count() < 20);
  MESSAGE(report.rows, " rows in ", took.count(), " s; peak memory ", memory, " before, ", peak_memory(), " after");
}

}  // namespace sluice::test
