// 4xx of the agent's API in metrics and in the log.
#include "agent/api/refusals.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/unit/agent/api/api_rig.hpp"
#include "tests/unit/telemetry/pipe.hpp"

namespace sluice::agent::api {
namespace {

using namespace std::chrono_literals;

const std::string kOneLimit =
    R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}])";

std::uint64_t counted(const ApiRig& rig, std::string_view code) {
  const auto causes = refusal_causes();
  const auto cause = std::ranges::find(causes, code, &RefusalCause::code);
  REQUIRE(cause != causes.end());
  return rig.metrics.refusals.value(static_cast<std::size_t>(cause - causes.begin()));
}

std::uint64_t counted(const ApiRig& rig) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < refusal_causes().size(); ++i) sum += rig.metrics.refusals.value(i);
  return sum;
}

// A log of refusals. The test reads its lines.
struct LogRig {
  explicit LogRig(const telemetry::CounterVector& counters) : refusals(counters, log) {}
  std::vector<std::string> lines() {
    out.stop();
    pipe.close_writer();
    return pipe.read_lines();
  }
  telemetry::Pipe pipe;
  telemetry::LineWriter out{pipe.writer()};
  telemetry::Log log{out, telemetry::LogLevel::info};
  RefusalLog refusals;
  RefusalLog::Time now{1h};
};

TEST_CASE("Every refusal is counted by the code of its problem, once") {
  ApiRig rig(kOneLimit);
  rig.send("POST", "/v1/check", R"({"subject":"u"})", {});
  rig.send("POST", "/v1/check", R"({"subject":"u"})", {{"x-api-key", "slk_x"}});
  rig.check("{");
  rig.check(R"({"subject":"u","cost":-1})");
  rig.get("/v1/nothing");
  rig.get("/v1/check");
  rig.send("POST", "/v1/check", "x", {{"content-type", "text/xml"}});
  rig.api.refused({.status = 431, .type = "/problems/header-too-large", .detail = ""});
  CHECK(counted(rig, "missing") == 1);
  CHECK(counted(rig, "malformed") == 1);
  CHECK(counted(rig, "invalid") == 2);
  CHECK(counted(rig, "not_found") == 1);
  CHECK(counted(rig, "method_not_allowed") == 1);
  CHECK(counted(rig, "unsupported_media_type") == 1);
  CHECK(counted(rig, "header_too_large") == 1);
  CHECK(counted(rig) == 8);
}

TEST_CASE("Single checks of a batch are counted like requests") {
  ApiRig rig(kOneLimit);
  rig.post("/v1/check/batch", R"({"checks":[{"subject":"u"},7,{"subject":"u","cost":-1}]})");
  CHECK(counted(rig, "invalid") == 2);
  CHECK(counted(rig) == 2);
}

TEST_CASE("Decisions and 5xx are no refusals") {
  ApiRig rig(kOneLimit);
  CHECK(rig.check(R"({"subject":"u"})").status == 200);
  CHECK(rig.check(R"({"subject":"u"})").status == 429);
  rig.api.refused({.status = 505, .type = "/problems/http-version", .detail = ""});
  CHECK(counted(rig) == 0);
}

TEST_CASE("Causes have distinct codes, each with a text") {
  std::set<std::string> codes;
  for (const RefusalCause& cause : refusal_causes()) {
    CAPTURE(cause.code);
    CHECK(codes.insert(cause.code).second);
    CHECK_FALSE(cause.why.empty());
  }
  CHECK_FALSE(codes.contains("unauthorized"));
  CHECK_FALSE(codes.contains("forbidden"));  // the server's
}

TEST_CASE("A cause has a line at once, then at most one in ten seconds with the number of refusals") {
  ApiRig rig(kOneLimit);
  LogRig log(rig.metrics.refusals);
  for (int quarter = 0; quarter < 80; ++quarter) {  // 20 s
    rig.check("{");
    log.refusals.tick(log.now);
    log.now += 250ms;
  }
  log.refusals.tick(log.now);
  log.now += 1h;
  log.refusals.tick(log.now);
  const auto lines = log.lines();
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].find(R"("level":"info","event":"requests_refused")") != std::string::npos);
  CHECK(lines[0].find(R"("code":"invalid","count":1,"total":1,"why":")") != std::string::npos);
  CHECK(lines[1].find(R"("count":40,"total":41)") != std::string::npos);
  CHECK(lines[2].find(R"("count":39,"total":80)") != std::string::npos);
}

TEST_CASE("No line has anything from a request") {
  ApiRig rig(kOneLimit);
  LogRig log(rig.metrics.refusals);
  const std::string key = mint_key("stolen");
  rig.send("POST", "/v1/check", R"({")" + key + R"(":1,"subject":")" + key + R"("})",
           {{"x-api-key", rig.shop_key}, {"x-request-id", key}});
  rig.send("POST", "/v1/check", "{}", {{"x-api-key", key}});
  rig.send("GET", "/" + key, "", {});
  rig.send("POST", "/v1/check", "x", {{"content-type", key}});
  log.refusals.tick(log.now);
  const auto lines = log.lines();
  CHECK(lines.size() == 4);
  for (const std::string& line : lines) CHECK(line.find(key.substr(0, 12)) == std::string::npos);
}

}  // namespace
}  // namespace sluice::agent::api
