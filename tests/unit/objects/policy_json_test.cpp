#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/objects/policy_json.hpp"
#include "tests/unit/objects/bundle_helpers.hpp"

using namespace std::chrono_literals;
using namespace sluice;
using namespace sluice::test;

namespace {

// A policy with limits of its own and `rest` as further members.
std::string policy_with(std::string_view rest) {
  return shop(R"("policies":[{"id":"p","limits":[{"rate":"10/s"}])" + std::string(rest.empty() ? "" : ",") +
              std::string(rest) + "}]");
}

Policy policy_of(std::string_view rest) { return parsed(policy_with(rest)).policies.at(0); }

void check_policy_fault(std::string_view rest, std::string_view pointer, std::string_view words) {
  check_only_fault(policy_with(rest), "/policies/0" + std::string(pointer), words);
}

// A policy as a person wrote it.
std::expected<Bundle, Faults> written(const std::string& policy, Faults& notes) {
  return parse_written_bundle(shop(R"("policies":[{"id":"p","rate":"1/s",)" + policy + "}]"), nullptr, notes);
}

std::string rule(std::string_view members) { return shop(R"("policies":[{)" + std::string(members) + "}]"); }

}  // namespace

TEST_CASE("a policy without options has the documented defaults") {
  const Policy policy = policy_of("");
  CHECK(policy.tenant_id == "shop");
  CHECK(policy.enforcement == Enforcement{});
  CHECK(policy.enforcement.key_by == std::vector<DimensionRef>{{Dimension::resource, ""}, {Dimension::subject, ""}});
  CHECK(policy.enforcement.action == Action::deny);
  CHECK(policy.enforcement.failure_mode == FailureMode::fail_closed);
  CHECK(policy.report_subjects == ReportSubjects::hashed);
  CHECK(policy.rollout_percent == 100);
  CHECK(policy.enabled);
  CHECK(policy.version == 1);
  CHECK(policy.priority == 0);
}

TEST_CASE("every field of a policy is read") {
  const Policy policy = policy_of(R"("name":"Orders","metadata":{"team":"pay","tier":""},
    "match_expr":"region==us-east-1 && method!=DELETE","key_by":["tag.env","user"],"require_key_by":true,
    "mode":"monitor","failure_mode":"fail_degrade","degrade_share":0.25,"degrade_action":"local_limit",
    "failure_mode_when_open":"fail_open","rollout_percent":12.34,"valid_from":"2027-01-01T00:00:00Z",
    "valid_to":"2028-01-01T00:00:00Z","enabled":false,"priority":-5,"version":7,"report_subjects":"named")");
  CHECK(policy.name == "Orders");
  CHECK(policy.metadata == Metadata{{"team", "pay"}, {"tier", ""}});
  CHECK(policy.match_expr == "region==us-east-1 && method!=DELETE");
  CHECK(policy.enforcement.key_by == std::vector<DimensionRef>{{Dimension::user, ""}, {Dimension::tag, "env"}});
  CHECK(policy.enforcement.required == RequiredDimensions::key_by);
  CHECK(policy.enforcement.mode == Mode::shadow);
  CHECK(policy.enforcement.failure_mode == FailureMode::fail_degrade);
  CHECK(policy.enforcement.degrade_share == 0.25);
  CHECK(policy.enforcement.failure_mode_when_open == FailureMode::fail_open);
  CHECK(policy.rollout_percent == 12.34);
  CHECK(policy.valid_from == instant(1'798'761'600));
  CHECK(policy.valid_to == instant(1'830'297'600));
  CHECK_FALSE(policy.enabled);
  CHECK(policy.priority == -5);
  CHECK(policy.version == 7);
  CHECK(policy.report_subjects == ReportSubjects::named);
}

TEST_CASE("a scope holds one value or several for each dimension, sorted") {
  const Policy policy = policy_of(R"("scope":{"tag.env":["prod","dev","prod"],"resource":"GET:/orders","user":"a*"})");
  REQUIRE(policy.scope.size() == 3);
  CHECK(policy.scope[0] == ScopeTerm{{Dimension::resource, ""}, {"GET:/orders"}});
  CHECK(policy.scope[1] == ScopeTerm{{Dimension::user, ""}, {"a*"}});
  CHECK(policy.scope[2] == ScopeTerm{{Dimension::tag, "env"}, {"dev", "prod"}});
}

TEST_CASE("faults of a scope point at the value") {
  check_policy_fault(R"("scope":{"colour":"red"})", "/scope/colour", "is not a dimension");
  check_policy_fault(R"("scope":{"tag.":"x"})", "/scope/tag.", "is not a dimension");
  check_policy_fault(R"("scope":{"tag.a/b~c":7})", "/scope/tag.a~1b~0c", "a string or a list of strings");
  check_policy_fault(R"("scope":{"user":["a",null]})", "/scope/user/1", "not null");
  check_policy_fault(R"("scope":{"user":[]})", "/scope/user", "empty list");
  check_policy_fault(R"("scope":{"user":"a","user":"b"})", "/scope/user", "given twice");
  check_policy_fault(R"("scope":["user"])", "/scope", "must be an object, not a list");
  check_policy_fault(R"("scope":{"user":")" + std::string(257, 'x') + "\"}", "/scope/user", "256 bytes");
  check_policy_fault(R"("user":"a","scope":{"user":"b"})", "/user", "in the scope already");
}

TEST_CASE("a source_ip is an address, a block or a prefix") {
  for (const char* good : {"10.0.0.7", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::1", "::/128", "10.0.*"}) {
    CAPTURE(good);
    CHECK(policy_of(R"("scope":{"source_ip":")" + std::string(good) + "\"}").scope[0].values[0] == good);
  }
  for (const char* bad :
       {"", "10.0.0.300", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "host"}) {
    CAPTURE(bad);
    check_policy_fault(R"("scope":{"source_ip":")" + std::string(bad) + "\"}", "/scope/source_ip", "CIDR");
  }
}

TEST_CASE("modes have the aliases on and monitor") {
  CHECK(policy_of(R"("mode":"on")").enforcement.mode == Mode::enforce);
  CHECK(policy_of(R"("mode":"monitor")").enforcement.mode == Mode::shadow);
  CHECK(policy_of(R"("mode":"off")").enforcement.mode == Mode::off);
  check_policy_fault(R"("mode":"dry")", "/mode", "enforce (on), shadow (monitor), off");
}

TEST_CASE("key_by may be one dimension, several or none") {
  CHECK(policy_of(R"("key_by":"api_key")").enforcement.key_by == std::vector<DimensionRef>{{Dimension::api_key, ""}});
  CHECK(policy_of(R"("key_by":[])").enforcement.key_by.empty());
  check_policy_fault(R"("key_by":"apikey")", "/key_by", "is not a dimension");
}

TEST_CASE("an unknown algorithm or action hides no fault of another field") {
  const Faults faults = faults_of(rule(R"("id":"p","algorithm":"bucketeer","limit":-1,"window":"10 parsecs","rate":7,
    "refill_per_sec":"1","align":"left","period":"eon","anchor":"never","action":"explode","sample_rate":2,
    "max_delay":true,"downgrade_to":1)"));
  CAPTURE(text_of(faults));
  CHECK(faults.size() == 12);
  for (const char* pointer : {"algorithm", "limit", "window", "rate", "refill_per_sec", "align", "period", "anchor",
                              "action", "sample_rate", "max_delay", "downgrade_to"}) {
    CAPTURE(pointer);
    CHECK(std::ranges::count(faults, "/policies/0/" + std::string(pointer), &Fault::pointer) == 1);
  }
}

TEST_CASE("an action has its parameters and no other's") {
  CHECK(policy_of(R"("action":"sample","sample_rate":0.1)").enforcement.sample_rate == 0.1);
  CHECK(policy_of(R"("action":"delay","max_delay":"2s")").enforcement.max_delay == 2s);
  CHECK(policy_of(R"("action":"downgrade","downgrade_to":"basic")").enforcement.downgrade_to == "basic");
  check_policy_fault(R"("action":"sample")", "/sample_rate", "action sample needs it");
  check_policy_fault(R"("action":"delay")", "/max_delay", "action delay needs it");
  check_policy_fault(R"("action":"downgrade")", "/downgrade_to", "needs it");
  check_policy_fault(R"("sample_rate":0.1)", "/sample_rate", "only goes with action sample");
  check_policy_fault(R"("action":"drop","max_delay":"2s")", "/max_delay", "only goes with action delay");
  check_policy_fault(R"("downgrade_to":"basic")", "/downgrade_to", "only goes with action downgrade");
  check_policy_fault(R"("action":"downgrade","downgrade_to":"")", "/downgrade_to", "empty");
  check_policy_fault(R"("action":"sample","sample_rate":1.01)", "/sample_rate", "from 0 to 1");
  check_policy_fault(R"("action":"delay","max_delay":"0s")", "/max_delay", "from 1us");
  check_policy_fault(R"("action":"throttle","max_delay":"2s")", "/action", "drop_low_priority");
}

TEST_CASE("degrade parameters go with fail_degrade") {
  CHECK(policy_of(R"("failure_mode_when_open":"fail_degrade","degrade_share":1)").enforcement.degrade_share == 1);
  check_policy_fault(R"("degrade_share":0.5)", "/degrade_share", "fail_degrade");
  check_policy_fault(R"("failure_mode":"fail_open","degrade_action":"local_limit")", "/degrade_action", "fail_degrade");
  check_policy_fault(R"("failure_mode":"fail_degrade","degrade_action":"downgrade")", "/downgrade_to", "needs it");
  CHECK(policy_of(R"("failure_mode":"fail_degrade","degrade_action":"downgrade","downgrade_to":"basic")")
            .enforcement.downgrade_to == "basic");
}

TEST_CASE("a delay whose debt cannot be counted exactly is refused") {
  // 10/s: 1 per 100,000 µs; the debt is counted in µs · 1
  check_policy_fault(R"("action":"delay","max_delay":"367d")", "/max_delay", "366d");
  const auto with = [](std::string_view limit, std::string_view delay) {
    return shop(R"("policies":[{"id":"p","limits":[)" + std::string(limit) + R"(],"action":"delay","max_delay":")" +
                std::string(delay) + "\"}]");
  };
  // 2^51 − 10^6 µs·units are left beside a capacity of 1 at 1,000,000,000 units per 1,000,003 µs
  CHECK(parsed(with(R"({"capacity":1,"refill":"1000000000/1000003us"})", "2251799us")).policies.size() == 1);
  check_only_fault(with(R"({"capacity":1,"refill":"1000000000/1000003us"})", "2251800us"), "/policies/0/max_delay",
                   "at most 2251799us is possible");
}

TEST_CASE("report_subjects is hashed, named or off, and left out where it is hashed") {
  for (const auto how : {ReportSubjects::hashed, ReportSubjects::named, ReportSubjects::off}) {
    const std::string field = fmt::format(R"("report_subjects":"{}")", to_string(how));
    CAPTURE(field);
    const Policy policy = policy_of(field);
    CHECK(policy.report_subjects == how);
    json::Writer written(json::Writer::Layout::compact);
    write_policy(written, policy);
    CHECK((written.take().find(field) != std::string::npos) == (how != ReportSubjects::hashed));
  }
  check_policy_fault(R"("report_subjects":"raw")", "/report_subjects", "hashed, named, off");
  check_policy_fault(R"("report_subjects":true)", "/report_subjects", "not");
}

TEST_CASE("expose is all, remaining or none, and left out where it is all: older agents refuse an unknown field") {
  for (const auto what : {Expose::all, Expose::remaining, Expose::none}) {
    const std::string field = fmt::format(R"("expose":"{}")", to_string(what));
    CAPTURE(field);
    const Policy policy = policy_of(field);
    CHECK(policy.enforcement.expose == what);
    json::Writer written(json::Writer::Layout::compact);
    write_policy(written, policy);
    const std::string text = written.take();
    CHECK((text.find(field) != std::string::npos) == (what != Expose::all));
    CHECK((text.find("expose") != std::string::npos) == (what != Expose::all));
  }
  CHECK(policy_of("").enforcement.expose == Expose::all);
  check_policy_fault(R"("expose":"some")", "/expose", "all, remaining, none");
  check_policy_fault(R"("expose":false)", "/expose", "not");
}

TEST_CASE("rollout_percent is 0 to 100 with at most two decimals") {
  CHECK(policy_of(R"("rollout_percent":0)").rollout_percent == 0);
  CHECK(policy_of(R"("rollout_percent":0.01)").rollout_percent == 0.01);
  CHECK(policy_of(R"("rollout_percent":1e1)").rollout_percent == 10);
  check_policy_fault(R"("rollout_percent":0.001)", "/rollout_percent", "at most 2 decimals");
  check_policy_fault(R"("rollout_percent":100.01)", "/rollout_percent", "from 0 to 100");
  check_policy_fault(R"("rollout_percent":-1)", "/rollout_percent", "from 0 to 100");
  check_policy_fault(R"("rollout_percent":"50")", "/rollout_percent", "not a string");
}

TEST_CASE("a policy that is never valid is refused") {
  check_policy_fault(R"("valid_from":"2027-01-01T00:00:00Z","valid_to":"2027-01-01T00:00:00Z")", "/valid_to",
                     "after valid_from");
  CHECK(policy_of(R"("valid_from":null,"valid_to":"2027-01-01T00:00:00Z")").valid_to == instant(1'798'761'600));
}

TEST_CASE("priority, version, flags and texts are checked") {
  check_policy_fault(R"("priority":1.5)", "/priority", "whole number");
  check_policy_fault(R"("priority":2147483648)", "/priority", "2147483647");
  check_policy_fault(R"("version":0)", "/version", "from 1");
  check_policy_fault(R"("enabled":"yes")", "/enabled", "true or false");
  check_policy_fault(R"("metadata":{"a":1})", "/metadata/a", "must be a string");
  check_policy_fault(R"("metadata":{"a":"1","a":"2"})", "/metadata/a", "given twice");
  check_policy_fault(R"("metadata":{"":"1"})", "/metadata/", "1 to 64 bytes");
  std::string entries = R"("0":"")";
  for (int i = 1; i < 32; ++i) entries += ",\"" + std::to_string(i) + "\":\"\"";
  CHECK(policy_of(R"("metadata":{)" + entries + "}").metadata.size() == 32);
  check_policy_fault(R"("metadata":{)" + entries + R"(,"32":""})", "/metadata", "more than 32");
  check_policy_fault(R"("match_expr":")" + std::string(4097, 'x') + "\"", "/match_expr", "4096");
}

TEST_CASE("match_expr in the metadata that a person wrote is the policy's, and a note says so") {
  Faults notes;
  const auto bundle = written(R"("metadata":{"team":"pay","match_expr":"region==eu"})", notes);
  REQUIRE(bundle);
  CHECK(bundle->policies[0].match_expr == "region==eu");
  CHECK(bundle->policies[0].metadata == Metadata{{"team", "pay"}});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].pointer == "/policies/0/metadata/match_expr");
  const std::string longest(4096, 'x');
  CHECK(written(R"("metadata":{"match_expr":")" + longest + "\"}", notes)->policies[0].match_expr == longest);
}

TEST_CASE("match_expr given twice must be the same") {
  Faults notes;
  CHECK(written(R"("match_expr":"a==b","metadata":{"match_expr":"a==b"})", notes)->policies[0].match_expr == "a==b");
  for (const char* own : {"a==c", ""}) {
    CAPTURE(own);
    const auto refused =
        written(R"("match_expr":")" + std::string(own) + R"(","metadata":{"match_expr":"a==b"})", notes);
    REQUIRE_FALSE(refused);
    REQUIRE(refused.error().size() == 1);
    CHECK(has_fault(refused.error(), "/policies/0/metadata/match_expr", "another match_expr"));
  }
}

TEST_CASE("a faulty match_expr in the metadata is refused where it stands") {
  Faults notes;
  const auto refuse = +[](std::string_view) { return std::optional<std::string>("wrong"); };
  const auto refused = parse_written_bundle(
      shop(R"("policies":[{"id":"p","rate":"1/s","metadata":{"match_expr":"=="}}])"), refuse, notes);
  REQUIRE_FALSE(refused);
  CHECK(has_fault(refused.error(), "/policies/0/metadata/match_expr", "wrong"));
}

TEST_CASE("what is stored keeps match_expr in the metadata: an upgrade changes no decision") {
  CHECK(policy_of(R"("metadata":{"match_expr":"region==eu"})").match_expr.empty());
  CHECK(policy_of(R"("metadata":{"match_expr":"region==eu"})").metadata == Metadata{{"match_expr", "region==eu"}});
}

TEST_CASE("a policy has the limits of a plan or its own") {
  const std::string plan = R"("plans":[{"id":"pro","limits":[{"rate":"1/s"}]}],)";
  CHECK(parsed(shop(plan + R"("policies":[{"id":"p","plan_id":"pro"}])")).policies[0].plan_id == "pro");
  check_only_fault(shop(R"("policies":[{"id":"p"}])"), "/policies/0/plan_id", "plan_id is missing");
  check_only_fault(shop(plan + R"("policies":[{"id":"p","plan_id":"pro","limits":[{"rate":"1/s"}]}])"),
                   "/policies/0/plan_id", "keep one");
  check_only_fault(shop(plan + R"("policies":[{"id":"p","plan_id":"pro","rate":"1/s"}])"), "/policies/0/plan_id",
                   "keep one");
  check_only_fault(shop(plan + R"("policies":[{"id":"p","plan_id":"gold"}])"), "/policies/0/plan_id",
                   "plan \"gold\" does not exist in tenant \"shop\"");
  check_policy_fault(R"("window":"1s")", "/window", "move it into the limit");
}

TEST_CASE("a limit's key_by only adds dimensions") {
  check_only_fault(shop(R"("policies":[{"id":"p","limits":[{"rate":"1/s","key_by":["subject"]}]}])"),
                   "/policies/0/limits/0/key_by", "can only add");
  CHECK(parsed(shop(R"("policies":[{"id":"p","key_by":[],"limits":[{"rate":"1/s","key_by":["subject"]}]}])"))
            .policies[0]
            .limits[0]
            .key_by.size() == 1);
  // Through a plan, whose own key_by does not decide for the policy.
  check_only_fault(shop(R"("plans":[{"id":"pro","key_by":[],"limits":[{"rate":"1/s","key_by":"subject"}]}],
      "policies":[{"id":"p","plan_id":"pro"}])"),
                   "/policies/0/key_by", "can only add");
  check_only_fault(shop(R"("plans":[{"id":"pro","limits":[{"rate":"1/s","key_by":"subject"}]}])"),
                   "/plans/0/limits/0/key_by", "can only add");
}

TEST_CASE("the shorthand rule is a policy, with an id made from its content") {
  const std::string text = R"("endpoint":"/v1/pay","strategy":"token_bucket","key_by":"api_key","limit":100,)"
                           R"("window":"10s","fail_open":false)";
  const Policy policy = parsed(rule(text)).policies.at(0);
  CHECK(policy.tenant_id == "shop");
  CHECK(policy.scope == std::vector<ScopeTerm>{{{Dimension::endpoint, ""}, {"/v1/pay"}}});
  CHECK(policy.enforcement.key_by == std::vector<DimensionRef>{{Dimension::api_key, ""}});
  CHECK(policy.enforcement.failure_mode == FailureMode::fail_closed);
  REQUIRE(policy.limits.size() == 1);
  CHECK(policy.limits[0].name == "token_bucket");
  CHECK(policy.limits[0].limit == 100);
  CHECK(policy.limits[0].rate == Rate{1, 100'000});
  CHECK(policy.id.starts_with("rule-"));
  CHECK(policy.id.size() == 21);

  CHECK(parsed(rule(text)).policies[0].id == policy.id);
  // The same rule in other words is the same policy; a rule that differs is another.
  CHECK(parsed(rule(R"("fail_open":false,"limit":100,"window":"10000ms","strategy":"token","key_by":["api_key"],
      "scope":{"endpoint":["/v1/pay"]})"))
            .policies[0]
            .id == policy.id);
  CHECK(parsed(rule(R"("endpoint":"/v1/pay","rate":"101/10s","key_by":"api_key")")).policies[0].id != policy.id);
}

TEST_CASE("the shorthand rule keeps an id it has and takes every field of a policy") {
  const Policy policy =
      parsed(rule(R"("id":"pay","service":["a","b"],"tag.env":"prod","rate":"5/s","priority":3,"fail_open":true)"))
          .policies.at(0);
  CHECK(policy.id == "pay");
  CHECK(policy.scope.size() == 2);
  CHECK(policy.priority == 3);  // the rank of the policy, not the dimension
  CHECK(policy.enforcement.failure_mode == FailureMode::fail_open);
  check_only_fault(rule(R"("id":"pay","rate":"5/s","fail_open":true,"failure_mode":"fail_open")"),
                   "/policies/0/fail_open", "keep failure_mode");
  check_only_fault(rule(R"("rate":"5/s","tenant":"shop")"), "/policies/0/tenant", "did you mean \"tenant_id\"?");
  check_only_fault(shop(R"("policies":[{"rate":"5/s"},{"rate":"5/s"}])"), "/policies/1/id", "exists already");
}

TEST_CASE("only the shorthand rule may go without an id") {
  check_only_fault(shop(R"("policies":[{"limits":[{"rate":"1/s"}]}])"), "/policies/0/id", "id is missing");
}

TEST_CASE("a plan of one limit may have the limit's fields at its top level") {
  const Plan plan = parsed(shop(R"("plans":[{"id":"pro","name":"Pro","algorithm":"quota","limit":5,"period":"day",
      "unit":"tokens","key_by":"user","mode":"shadow"}])"))
                        .plans.at(0);
  CHECK(plan.name == "Pro");
  REQUIRE(plan.limits.size() == 1);
  CHECK(plan.limits[0].name == "quota");
  CHECK(plan.limits[0].unit == "tokens");
  CHECK(plan.limits[0].key_by.empty());  // key_by is the plan's
  CHECK(plan.enforcement.key_by == std::vector<DimensionRef>{{Dimension::user, ""}});
  CHECK(plan.enforcement.mode == Mode::shadow);
  check_only_fault(shop(R"("plans":[{"id":"pro","limits":[{"rate":"1/s"}],"unit":"tokens"}])"), "/plans/0/unit",
                   "stands beside limits");
  check_only_fault(shop(R"("plans":[{"id":"pro","rate":"1/s","user":"a"}])"), "/plans/0/user", "not a field");
}

TEST_CASE("a rollout_percent between 0 and 1 that a person wrote gets a note, because a quarter is 25") {
  Faults notes;
  CHECK(written(R"("rollout_percent":0.25)", notes)->policies[0].rollout_percent == 0.25);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].pointer == "/policies/0/rollout_percent");
  CHECK(notes[0].text == "0.25 percent, fewer than one subject in a hundred; for 0.25 of all subjects write 25");
  for (const char* percent : {"0", "1", "1.5", "25", "100"}) {
    CAPTURE(percent);
    REQUIRE(written(std::string(R"("rollout_percent":)") + percent, notes));
    CHECK(notes.empty());
  }
}

TEST_CASE("a number of milliseconds as window, lease_ttl or max_delay gets a note with the place; stored ones do not") {
  Faults notes;
  const std::string bundle = shop(
      R"("policies":[{"id":"p","limits":[{"algorithm":"fixed_window","limit":1,"window":60000},)"
      R"({"name":"held","algorithm":"concurrency","limit":1,"lease_ttl":30000}],"action":"delay","max_delay":2000}])");
  REQUIRE(parse_written_bundle(bundle, nullptr, notes));
  REQUIRE(notes.size() == 3);
  CHECK(has_fault(notes, "/policies/0/limits/0/window", "16 h 40 min"));
  CHECK(has_fault(notes, "/policies/0/limits/1/lease_ttl", "write 30 or \"30s\""));
  CHECK(has_fault(notes, "/policies/0/max_delay", "write 2 or \"2s\""));
  CHECK(parsed(bundle).policies[0].limits[0].window == std::chrono::seconds(60'000));
  check_only_fault(shop(R"("plans":[{"id":"p","algorithm":"fixed_window","limit":1,"window":86400000}])"),
                   "/plans/0/window", "not 1000d: 86400000 is read as 86400000 seconds, 1000 d; for 1d write 86400");
}

TEST_CASE("ipv6_prefix is 64 unless given, and written only where it is another") {
  CHECK(policy_of("").enforcement.ipv6_prefix == 64);
  CHECK(policy_of(R"("ipv6_prefix":128)").enforcement.ipv6_prefix == 128);
  check_policy_fault(R"("ipv6_prefix":0)", "/ipv6_prefix", "1");
  check_policy_fault(R"("ipv6_prefix":129)", "/ipv6_prefix", "128");
}
