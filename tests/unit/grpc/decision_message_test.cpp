// Decisions as messages: what is written, what is left out, and that the numbers are those of JSON decisions.
#include <cstdint>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <protozero/pbf_reader.hpp>

#include "agent/grpc/decision_message.hpp"
#include "tests/unit/domain/decision_samples.hpp"

namespace sluice::agent::rpc {
namespace {

using namespace decision_tests;

// The fields of a message by number: texts as they are, numbers in decimal digits. What is repeated stands one after
// the other, each behind '|'.
using Fields = std::map<std::uint32_t, std::string>;

Fields fields_of(std::string_view message) {
  Fields fields;
  protozero::pbf_reader in(message.data(), message.size());
  while (in.next()) {
    std::string& text = fields[in.tag()];
    if (!text.empty()) text += "|";
    switch (in.wire_type()) {
      case protozero::pbf_wire_type::varint:
        text += std::to_string(in.get_int64());
        break;
      case protozero::pbf_wire_type::fixed64:
        text += std::to_string(in.get_double());
        break;
      default:
        text += in.get_string();
    }
  }
  return fields;
}

Fields written(const Decision& decision) {
  std::string message;
  write_check_response(decision, message);
  return fields_of(message);
}

TEST_CASE("an allowed check says what is left and when all is back, in whole seconds rounded up") {
  const Fields fields = written(allowed());
  CHECK(fields == Fields{{1, "1"},
                         {2, "allow"},
                         {3, "within_limit"},
                         {4, "100"},
                         {5, "42"},
                         {6, "1718654400"},  // 18 s after half past 1718654381
                         {7, "0"},
                         {10, "orders"},
                         {11, "7"},
                         {12, "pro"},
                         {13, "per_minute"}});
}

TEST_CASE("a denial says when to come back, rounded up to milliseconds") {
  Fields fields = written(denied(1'500'001));
  CHECK(fields.find(1) == fields.end());
  CHECK(fields[2] == "deny");
  CHECK(fields[3] == "limit_exceeded");
  CHECK(fields[5] == "0");
  CHECK(fields[7] == "1501");
}

TEST_CASE("a check that can never pass has no time to come back") {
  const Fields fields = written(denied(kNever));
  CHECK(fields.find(7) == fields.end());
}

TEST_CASE("a decision without a limit has no numbers") {
  const Fields fields = written(plain(true, Reason::no_policy));
  for (const std::uint32_t field : {4U, 5U, 6U, 10U, 11U, 13U}) CHECK(fields.find(field) == fields.end());
  CHECK(fields.at(3) == "no_policy");
}

TEST_CASE("what a policy adds is written: metadata, a lease, a wait, a cheaper service, a sample") {
  Decision decision = allowed();
  const Metadata metadata{{"team", "sales"}, {"tier", "gold"}};
  decision.metadata = &metadata;
  decision.lease_id = "lease-1";
  decision.lease_expires_at_us = kNow;
  decision.waited_us = 1'001;
  decision.report.delay_us = 2'001;
  decision.request_id = "r-1";
  decision.cause = "why";
  Fields fields = written(decision);
  const std::string two = fields[19];
  CHECK(fields_of(two.substr(0, two.find('|'))) == Fields{{1, "team"}, {2, "sales"}});
  CHECK(fields_of(two.substr(two.find('|') + 1)) == Fields{{1, "tier"}, {2, "gold"}});
  CHECK(fields[20] == "lease-1");
  CHECK(fields[21] == "1718654381");
  CHECK(fields[9] == "2");
  CHECK(fields[8] == "3");
  CHECK(fields[22] == "r-1");
  CHECK(fields[23] == "why");
  decision.action = Action::downgrade;
  decision.downgrade_to = "basic";
  CHECK(written(decision)[18] == "basic");
  decision.action = Action::sample;
  decision.sample_rate = 0.25;
  fields = written(decision);
  CHECK(fields[17] == "0.250000");
  CHECK(fields.find(18) == fields.end());
}

TEST_CASE("a check that was not held has no waited_ms, and one that was held for no time has") {
  Decision decision = allowed();
  CHECK(written(decision).count(9) == 0);
  decision.waited_us = 0;
  CHECK(written(decision)[9] == "0");
}

TEST_CASE("a policy in shadow mode says what it would have done") {
  Decision decision = allowed();
  decision.shadow = true;
  decision.would_allow = false;
  decision.over_limit = true;
  Fields fields = written(decision);
  CHECK(fields[14] == "1");
  CHECK(fields[15] == "0");
  CHECK(fields[16] == "1");
}

TEST_CASE("the shadow policy's verdict stands in a message of its own") {
  Decision decision = allowed();
  decision.shadow_result = ShadowResult{.allowed = false,
                                        .reason = Reason::limit_exceeded,
                                        .policy_id = "next",
                                        .policy_version = 3,
                                        .plan_id = "strict",
                                        .limit_name = "tight",
                                        .report = {.admitted = false,
                                                   .limit = 5,
                                                   .remaining = 0,
                                                   .reset_after_us = kSecond,
                                                   .retry_after_us = 10,
                                                   .delay_us = 0}};
  CHECK(fields_of(written(decision)[24]) == Fields{{2, "limit_exceeded"},
                                                   {3, "5"},
                                                   {4, "0"},
                                                   {5, "1718654383"},
                                                   {6, "1"},
                                                   {8, "next"},
                                                   {9, "3"},
                                                   {10, "strict"},
                                                   {11, "tight"}});
}

TEST_CASE("an explained decision has the clock, every limit and every candidate") {
  Decision decision = allowed();
  decision.explain = true;
  decision.limits = {{.name = "burst",
                      .algorithm = Algorithm::token_bucket,
                      .unit = "requests",
                      .cost = 2,
                      .report = {.limit = 10, .remaining = 8, .reset_after_us = 5},
                      .brought = true}};
  decision.candidates.shown = {{.policy_id = "orders",
                                .policy_version = 7,
                                .plan_id = "pro",
                                .outcome = CandidateOutcome::decides,
                                .why = "the closest"}};
  decision.candidates.omitted = 2;
  Fields fields = written(decision);
  CHECK(fields[25] == std::to_string(kNow));
  CHECK(fields_of(fields[26]) == Fields{{1, "burst"},
                                        {2, "token_bucket"},
                                        {3, "requests"},
                                        {4, "2"},
                                        {5, "1"},
                                        {6, "10"},
                                        {7, "limit_override"},
                                        {8, "8"},
                                        {9, "5"}});
  CHECK(fields_of(fields[27]) == Fields{{1, "orders"}, {2, "7"}, {3, "pro"}, {4, "decides"}, {5, "the closest"}});
  CHECK(fields[28] == "2");
  decision.explain = false;
  CHECK(written(decision).count(25) == 0);
}

}  // namespace
}  // namespace sluice::agent::rpc
