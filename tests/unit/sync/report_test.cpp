#include "common/sync/report.hpp"

#include <doctest/doctest.h>

#include <fmt/core.h>

namespace sluice::sync {
namespace {

using namespace std::chrono_literals;

const std::string kChain(64, 'a');
constexpr WallTime kFrom{std::chrono::seconds(1'900'000'000)};

AgentState agent() {
  return {
      .agent_id = "a1",
      .pod = "shop-7f9",
      .boot_id = "0f3c",
      .version = "0.1.0",
      .enforced = Position{.revision = 7, .chain = kChain},
      .degraded = {"redis: no answer since \"noon\""},
      .refusal = SnapshotRefusal{.refused = {.revision = 8, .chain = kChain}, .code = "checksum_mismatch", .text = "é"},
      .counters_generation = "0123456789abcdef"};
}

std::vector<UsageReport> reports() {
  return {
      {.number = 7,
       .from = kFrom,
       .to = kFrom + 10s,
       .counts = {{"shop", "orders", "denied", 3}, {"shop", "", "allowed", 1}},
       .subjects = {{"shop", "orders", "sha256:0123456789abcdef", 2}, {"shop", "", "user \"é\"", 1}},
       .unmatched = {{"shop", "GET:/carts", 4}},
       .quotas = {{.tenant_id = "shop",
                   .policy_id = "orders",
                   .plan_id = "gold",
                   .limit = "day",
                   .counter = "3f00",
                   .subject = "user \"é\"",
                   .percent = 80,
                   .quota = 10,
                   .used = 8,
                   .from = kFrom,
                   .to = kFrom + 24h}},
       .keys = {"app", "key-3f9a0c41d2e7"},
       .utilization = {{.tenant_id = "shop", .policy_id = "orders", .decisions = 3, .near_limit = 2, .used = 24'000},
                       {.tenant_id = "shop", .policy_id = "", .decisions = 1, .near_limit = 0, .used = 0}}},
      {.number = 8, .from = kFrom + 10s, .to = kFrom + 10s, .counts = {}, .subjects = {}}};
}

std::string pointers(std::string_view json) {
  const auto parsed = parse_report(json);
  if (parsed) return "none";
  std::string out;
  for (const Fault& fault : parsed.error()) out += (out.empty() ? "" : " ") + fault.pointer;
  return out;
}

std::string with(std::string_view reports, std::string_view more = "") {
  return fmt::format(R"({{"agent_id":"a","boot_id":"b","version":"v","reports":[{}]{}}})", reports, more);
}

std::string usage(std::string_view counts, int number = 1) {
  return fmt::format(R"({{"number":{},"from":"2027-03-31T00:00:00Z","to":"2027-03-31T00:00:10Z","counts":[{}]}})",
                     number, counts);
}

TEST_CASE("a report survives being written and read") {
  const auto read = parse_report(write_report(agent(), reports()));
  REQUIRE(read);
  CHECK(read->agent == agent());
  CHECK(read->reports == reports());
}

TEST_CASE("an agent without a state, without a pod and without decisions reports too") {
  AgentState state = agent();
  state.pod.clear();
  state.enforced.reset();
  state.degraded.clear();
  state.refusal.reset();
  state.counters_generation.clear();
  const auto read = parse_report(write_report(state, {}));
  REQUIRE(read);
  CHECK(read->agent == state);
  CHECK(read->reports.empty());
}

TEST_CASE("texts that are too long are cut between characters, so that the report is taken") {
  AgentState state = agent();
  state.degraded.assign(100, std::string(kMaxReportText - 1, 'x') + "é");
  state.refusal->text = std::string(2 * kMaxReportText, 'y');
  const auto read = parse_report(write_report(state, {}));
  REQUIRE(read);
  REQUIRE(read->agent.degraded.size() == kMaxDegraded);
  CHECK(read->agent.degraded[0] == std::string(kMaxReportText - 1, 'x'));
  CHECK(read->agent.refusal->text.size() == kMaxReportText);
}

TEST_CASE("an agent that ends says so") {
  AgentState state = agent();
  CHECK(!parse_report(write_report(state, {}))->agent.leaving);
  state.leaving = true;
  CHECK(parse_report(write_report(state, {}))->agent == state);
}

TEST_CASE("unmatched resources over the bound of a request are left out, and faults name their members") {
  auto made = reports();
  made[0].unmatched.assign(kMaxUnmatchedAtOnce + 1, {"shop", "GET:/" + std::string(kMaxSubjectBytes, 'x'), 1});
  const auto read = parse_report(write_report(agent(), made));
  REQUIRE(read);
  REQUIRE(read->reports[0].unmatched.size() == kMaxUnmatchedAtOnce);
  CHECK(read->reports[0].unmatched[0].resource.size() == kMaxSubjectBytes);
  std::string text = write_report(agent(), reports());
  text.replace(text.find(R"("resource":"GET:/carts")"), std::string_view(R"("resource":"GET:/carts")").size(),
               R"("resource":"")");
  const auto refused = parse_report(text);
  REQUIRE_FALSE(refused);
  CHECK(refused.error()[0].pointer == "/reports/0/unmatched/0/resource");
}

TEST_CASE("used keys over the bound of a request are left out, and a faulty id is named") {
  auto made = reports();
  made[0].keys.assign(kMaxKeysAtOnce + 1, "app");
  const auto read = parse_report(write_report(agent(), made));
  REQUIRE(read);
  CHECK(read->reports[0].keys.size() == kMaxKeysAtOnce);
  std::string text = write_report(agent(), reports());
  CHECK(pointers(text.replace(text.find(R"("app")"), 5, R"("NO!")")) == "/reports/0/keys/0");
}

TEST_CASE("reached quotas over the bound of a request are left out, and faults name their members") {
  auto made = reports();
  made[0].quotas.assign(kMaxQuotaMarksAtOnce + 1, made[0].quotas[0]);
  made[0].quotas[0].subject = std::string(kMaxSubjectBytes + 1, 'x');
  const auto read = parse_report(write_report(agent(), made));
  REQUIRE(read);
  REQUIRE(read->reports[0].quotas.size() == kMaxQuotaMarksAtOnce);
  CHECK(read->reports[0].quotas[0].subject.size() == kMaxSubjectBytes);
  const auto faulty = [](std::string_view from, std::string_view to) {
    std::string text = write_report(agent(), reports());
    return pointers(text.replace(text.find(from), from.size(), to));
  };
  CHECK(faulty(R"("percent":80)", R"("percent":101)") == "/reports/0/quotas/0/percent");
  CHECK(faulty(R"("counter":"3f00")", R"("counter":"")") == "/reports/0/quotas/0/counter");
  CHECK(faulty(R"("quota":10,)", "") == "/reports/0/quotas/0/quota");
  CHECK(faulty(R"("plan_id":"gold")", R"("plan_id":"NO")") == "/reports/0/quotas/0/plan_id");
}

TEST_CASE("utilization over the bound of a request is left out, and faults name its members") {
  auto made = reports();
  made[0].utilization.assign(kMaxUtilizationsAtOnce + 1, made[0].utilization[0]);
  const auto read = parse_report(write_report(agent(), made));
  REQUIRE(read);
  CHECK(read->reports[0].utilization.size() == kMaxUtilizationsAtOnce);
  const auto faulty = [](std::string_view from, std::string_view to) {
    std::string text = write_report(agent(), reports());
    return pointers(text.replace(text.find(from), from.size(), to));
  };
  CHECK(faulty(R"("near_limit":2)", R"("near_limit":4)") == "/reports/0/utilization/0/near_limit");
  CHECK(faulty(R"("decisions":3)", R"("decisions":0)") == "/reports/0/utilization/0/decisions");
  CHECK(faulty(R"("near_limit":2,)", "") == "/reports/0/utilization/0/near_limit");
  CHECK(faulty(R"("used":24000)", R"("used":-1)") == "/reports/0/utilization/0/used");
}

TEST_CASE("subjects over the bound of a request are left out, and long ones are cut") {
  std::vector<UsageReport> made = reports();
  made[0].subjects.assign(kMaxSubjectsAtOnce - 1, {"shop", "orders", std::string(kMaxSubjectBytes - 1, 'x') + "é", 1});
  made[1].subjects = reports()[0].subjects;
  const auto read = parse_report(write_report(agent(), made));
  REQUIRE(read);
  REQUIRE(read->reports[0].subjects.size() == kMaxSubjectsAtOnce - 1);
  CHECK(read->reports[0].subjects[0].subject == std::string(kMaxSubjectBytes - 1, 'x'));
  CHECK(read->reports[1].subjects == std::vector{made[1].subjects[0]});
}

TEST_CASE("members of another version are passed over everywhere") {
  CHECK(pointers(with(usage(R"({"tenant_id":"t","policy_id":"p","outcome":"denied","count":1,"cost":2})"),
                      R"(,"leaving":false,"refusal":{"revision":1,"chain":")" + kChain +
                          R"(","code":"x","text":"","since":"y"},"cpu":1)")) == "none");
  CHECK(*parse_report_reply(R"({"stored":6,"next_in_ms":500})") == 6);
}

TEST_CASE("a report's faults name the members") {
  CHECK(pointers("{}") == "/agent_id /boot_id /version /reports");
  CHECK(pointers(with("", R"(,"pod":"a b")")) == "/pod");
  CHECK(pointers(with("", R"(,"pod":"\n")")) == "/pod");
  CHECK(pointers(R"({"agent_id":"","boot_id":"b","version":"v","reports":[]})") == "/agent_id");
  CHECK(pointers(with("", R"(,"revision":3)")) == "/chain");
  CHECK(pointers(with("", R"(,"degraded":[1])")) == "/degraded/0");
  CHECK(pointers(with("", R"(,"refusal":{"revision":1,"chain":"x","code":"A b","text":""})")) ==
        "/refusal/chain /refusal/code");
  CHECK(pointers(with("7")) == "/reports/0");
  CHECK(pointers(with(usage("", 0))) == "/reports/0/number");
  CHECK(pointers(with(usage("", 2) + "," + usage("", 2))) == "/reports/1/number");
  CHECK(pointers(with(usage(R"({"tenant_id":"t","outcome":"denied","count":0})"))) == "/reports/0/counts/0/count");
  CHECK(pointers(with(usage(R"({"tenant_id":"","outcome":"denied","count":1})"))) == "/reports/0/counts/0/tenant_id");
  CHECK(pointers(with(usage(R"({"tenant_id":"t","policy_id":"P","outcome":"denied","count":1})"))) ==
        "/reports/0/counts/0/policy_id");
  CHECK(pointers(with(usage(R"({"tenant_id":"t","outcome":"no no","count":1})"))) == "/reports/0/counts/0/outcome");
  CHECK(pointers(with(R"({"number":1,"from":"2027-03-31T00:00:01Z","to":"2027-03-31T00:00:00Z","counts":[]})")) ==
        "/reports/0/to");
  const auto with_subjects = [](std::string_view subjects) {
    std::string report = usage("");
    report.pop_back();
    return with(fmt::format(R"({},"subjects":[{}]}})", report, subjects));
  };
  CHECK(pointers(with_subjects(R"({"tenant_id":"t","subject":"s","count":1,"since":1})")) == "none");
  CHECK(pointers(with_subjects("{}")) ==
        "/reports/0/subjects/0/tenant_id /reports/0/subjects/0/subject /reports/0/subjects/0/count");
  CHECK(pointers(with_subjects(R"({"tenant_id":"t","policy_id":"P","subject":"","count":0})")) ==
        "/reports/0/subjects/0/policy_id /reports/0/subjects/0/subject /reports/0/subjects/0/count");
  CHECK(pointers(with_subjects("7")) == "/reports/0/subjects/0");
  CHECK(pointers(with("", R"(,"leaving":1)")) == "/leaving");
  CHECK(pointers(with("", R"(,"counters_generation":"a b")")) == "/counters_generation");
  std::string too_many = R"({"tenant_id":"t","subject":"s","count":1})";
  for (std::size_t i = 0; i < kMaxSubjectsAtOnce; ++i) too_many += R"(,{"tenant_id":"t","subject":"s","count":1})";
  CHECK(pointers(with_subjects(too_many)) == "/reports");
  std::string many;
  for (std::size_t i = 1; i <= kMaxReportsAtOnce + 1; ++i) many += (i == 1 ? "" : ",") + usage("", static_cast<int>(i));
  CHECK(pointers(with(many)) == "/reports");
  CHECK(pointers(std::string(kMaxReportBytes + 1, ' ')) == "");
}

TEST_CASE("the reply names the last report stored") {
  CHECK(*parse_report_reply(write_report_reply(0)) == 0);
  CHECK(*parse_report_reply(write_report_reply(41)) == 41);
  for (const std::string_view reply : {"", "{}", R"({"stored":-1})", R"({"stored":"1"})", R"({"stored":null})"}) {
    CAPTURE(reply);
    const auto parsed = parse_report_reply(reply);
    REQUIRE(!parsed);
    CHECK(!parsed.error().empty());
  }
}

}  // namespace
}  // namespace sluice::sync
