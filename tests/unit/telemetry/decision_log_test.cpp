#include "common/telemetry/decision_log.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/base/crypto.hpp"
#include "tests/unit/telemetry/pipe.hpp"

using namespace sluice;
using namespace sluice::telemetry;
using Kind = DecisionLogMode::Kind;

namespace {

class FixedClock final : public Clock {
 public:
  std::int64_t now_us() const override { return 1'718'654'400'123'456; }
};
const FixedClock kClock;

constexpr std::string_view kTraceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

std::string line_of(const DecisionRecord& record) {
  Pipe pipe;
  LineWriter out(pipe.writer());
  DecisionLog log({.kind = Kind::all}, out, kClock);
  log.write(record);
  out.stop();
  pipe.close_writer();
  return pipe.read_all();
}

int wanted(DecisionLogMode mode, bool allowed, int times) {
  Pipe pipe;
  LineWriter out(pipe.writer());
  DecisionLog log(mode, out, kClock);
  int count = 0;
  for (int i = 0; i < times; ++i) count += log.wants(allowed) ? 1 : 0;
  return count;
}

DecisionRecord full_record() {
  return {.tenant = "shop",
          .subject = "user:42",
          .has_subject = true,
          .policy_id = "orders",
          .plan_id = "pro",
          .algorithm = Algorithm::token_bucket,
          .allowed = false,
          .reason = Reason::limit_exceeded,
          .remaining = 0,
          .took = std::chrono::microseconds(1250),
          .request_id = "req-1",
          .traceparent = kTraceparent};
}

}  // namespace

TEST_CASE("A line of the decision log has every documented field") {
  CHECK(
      line_of(full_record()) ==
      R"({"time":"2024-06-17T20:00:00.123Z","event":"check","algorithm":"token_bucket","tenant":"shop","subject_hash":")" +
          to_hex(sha256(std::string("shop\0user:42", 12))).substr(0, 16) +
          R"(","policy_id":"orders","plan_id":"pro","outcome":"denied",)"
          R"("reason":"limit_exceeded","remaining":0,"duration_us":1250,"request_id":"req-1",)"
          R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",)"
          R"("trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331"})"
          "\n");
}

TEST_CASE("A shadow adds its policy and what it found") {
  DecisionRecord record = full_record();
  record.shadow_policy_id = "orders-next";
  record.shadow_over_limit = true;
  CHECK(line_of(record).find(R"("shadow_policy_id":"orders-next","shadow_outcome":"over_limit")") != std::string::npos);
  record.shadow_over_limit = false;
  CHECK(line_of(record).find(R"("shadow_outcome":"within_limit")") != std::string::npos);
}

TEST_CASE("The signal of a check is in its line if the check has one") {
  DecisionRecord record = full_record();
  CHECK(line_of(record).find("signal") == std::string::npos);
  record.signal = "span\n";
  CHECK(line_of(record).find(R"("signal":"span\n","request_id":"req-1")") != std::string::npos);
}

TEST_CASE("What a decision does not have is null") {
  CHECK(line_of({.tenant = "shop", .reason = Reason::no_policy}) ==
        R"({"time":"2024-06-17T20:00:00.123Z","event":"check","algorithm":null,"tenant":"shop","subject_hash":null,)"
        R"("policy_id":null,"plan_id":null,"outcome":"allowed","reason":"no_policy","remaining":null,"duration_us":0,)"
        R"("request_id":null,"traceparent":null})"
        "\n");
}

TEST_CASE("The raw subject is never written") { CHECK(line_of(full_record()).find("user:42") == std::string::npos); }

TEST_CASE("A hostile request id stays inside its field") {
  DecisionRecord record = full_record();
  const std::string hostile = "x\"\n{\"event\":\"check\"}\x1b[2J";
  record.request_id = hostile;
  const std::string line = line_of(record);
  CHECK(line.find('\n') == line.size() - 1);
  CHECK(line.find('\x1b') == std::string::npos);
  CHECK(line.find(R"("request_id":"x\"\n{\"event\":\"check\"}\u001b[2J")") != std::string::npos);
}

TEST_CASE("The subject hash is the same everywhere, and tells tenants and subjects apart") {
  CHECK(subject_hash("shop", "user:42") == to_hex(sha256(std::string("shop\0user:42", 12))).substr(0, 16));
  CHECK(subject_hash("shop", "user:42") == subject_hash("shop", "user:42"));
  CHECK(subject_hash("shop", "user:42") != subject_hash("shop", "user:43"));
  CHECK(subject_hash("shop", "user:42") != subject_hash("shopu", "ser:42"));
  CHECK(subject_hash("shop", "").size() == 16);
}

TEST_CASE("An empty subject is hashed, an absent one is null") {
  DecisionRecord record = full_record();
  record.subject = "";
  CHECK(line_of(record).find(subject_hash("shop", "")) != std::string::npos);
  record.has_subject = false;
  CHECK(line_of(record).find(R"("subject_hash":null)") != std::string::npos);
}

TEST_CASE("The mode chooses which decisions are logged") {
  CHECK(wanted({.kind = Kind::off}, false, 10) == 0);
  CHECK(wanted({.kind = Kind::off}, true, 10) == 0);
  CHECK(wanted({.kind = Kind::denied}, false, 10) == 10);
  CHECK(wanted({.kind = Kind::denied}, true, 10) == 0);
  CHECK(wanted({.kind = Kind::all}, false, 10) == 10);
  CHECK(wanted({.kind = Kind::all}, true, 10) == 10);
  CHECK(wanted({.kind = Kind::sample, .every = 1}, true, 10) == 10);
  CHECK(wanted({.kind = Kind::sample, .every = 100}, true, 1000) == 10);
}

TEST_CASE("A share is read as it is written, and kept exactly") {
  CHECK(parse_decision_log_mode("sample=0.01") == DecisionLogMode{.kind = Kind::sample, .every = 100});
  CHECK(parse_decision_log_mode("sample=1") == DecisionLogMode{.kind = Kind::sample});
  CHECK(wanted(*parse_decision_log_mode("sample=0.01"), true, 1000) == 10);
  CHECK(wanted(*parse_decision_log_mode("sample=0.3"), true, 1000) == 300);
  for (const std::string_view text : {"sample=", "sample=0", "sample=-1", "sample=1.1", "sample=nan", "sample=1%"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decision_log_mode(text).has_value());
  }
}

TEST_CASE("The mode is read in its four forms only") {
  CHECK(parse_decision_log_mode("off") == DecisionLogMode{.kind = Kind::off});
  CHECK(parse_decision_log_mode("denied") == DecisionLogMode{.kind = Kind::denied});
  CHECK(parse_decision_log_mode("all") == DecisionLogMode{.kind = Kind::all});
  CHECK(parse_decision_log_mode("sample:100") == DecisionLogMode{.kind = Kind::sample, .every = 100});
  CHECK(parse_decision_log_mode("sample:1000000000") == DecisionLogMode{.kind = Kind::sample, .every = 1'000'000'000});
  for (const std::string_view text : {"", "on", "OFF", "sample", "sample:", "sample:0", "sample:-1", "sample:+1",
                                      "sample:1x", "sample:1000000001", "sample:99999999999", "sample: 1", "all "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_decision_log_mode(text).has_value());
  }
}

TEST_CASE("A line names the span of a traced check, also if the caller has none") {
  tracing::SpanContext span{.trace_id = {0xab}, .span_id = {0xcd}, .flags = 1};
  for (const std::string_view traceparent : {std::string_view(), kTraceparent}) {
    DecisionRecord record = full_record();
    record.traceparent = traceparent;
    record.span = &span;
    const std::string line = line_of(record);
    CHECK(line.ends_with(R"("trace_id":"ab000000000000000000000000000000","span_id":"cd00000000000000"})"
                         "\n"));
  }
}
