// What an explanation says of every candidate, in the words its reader sees.
#include "common/policy/explain.hpp"

#include "common/policy/levels.hpp"
#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

const std::string kRequest = R"({"resource":"GET:/a","endpoint":"e","subject":"user:42","service":"s","region":"eu",
  "method":"GET","source_ip":"10.0.0.7"})";

// What is said of `loser`, which `winner` outranks.
std::string outranked(const std::string& winner_scope, const std::string& loser_scope, const std::string& more = "") {
  Asked asked(policies({policy("winner", winner_scope, more), policy("zloser", loser_scope)}), kRequest);
  CHECK(asked.decides() == "winner");
  return asked.said_of("zloser");
}

TEST_CASE("the deciding policy is told from one that is alone") {
  CHECK(Asked(policies({policy("a", "{}")}), kRequest).said_of("a") ==
        "decides: the only policy that applies and is not in shadow mode");
  CHECK(Asked(policies({policy("a", "{}"), policy("b", "{}", R"("mode":"shadow")")}), kRequest).said_of("a") ==
        "decides: the only policy that applies and is not in shadow mode");
  CHECK(Asked(policies({policy("a", "{}"), policy("b", "{}")}), kRequest).said_of("a") ==
        "decides: ranks first among the policies that apply and are not in shadow mode");
}

TEST_CASE("a policy that is off says that nothing is judged, and whose mode it is") {
  CHECK(Asked(policies({policy("a", "{}", R"("mode":"off")"), policy("b", "{}")}), kRequest).said_of("a") ==
        "decides: ranks first, and its mode is off: nothing is judged");
  auto tenant_off = snapshot_of(policies({policy("a", "{}")}), R"(,"mode":"off")");
  CHECK(Asked(tenant_off, kRequest).said_of("a") ==
        "decides: ranks first, and the mode of its tenant or of the bundle is off: nothing is judged");
}

TEST_CASE("a shadow above a deciding policy that is off is not said to be judged") {
  Asked asked(policies({policy("shadow", R"({"resource":"GET:/a"})", R"("mode":"shadow")"),
                        policy("off", "{}", R"("mode":"off")")}),
              kRequest);
  CHECK(asked.said_of("shadow") == "shadow_not_judged: in shadow mode and not judged: the deciding policy off is off");
}

TEST_CASE(
    "shadows: the one judged beside, one behind another, one below the deciding policy, and where only they apply") {
  const std::string mode = R"("mode":"shadow")";
  Asked above(policies({policy("first", R"({"resource":"GET:/a"})", mode), policy("second", R"({"service":"s"})", mode),
                        policy("live", "{}")}),
              kRequest);
  CHECK(above.said_of("first") ==
        "shadow_judged: in shadow mode above the deciding policy: judged and reported, but not enforced");
  CHECK(above.said_of("second") ==
        "shadow_not_judged: in shadow mode below another shadow, not judged: first is more specific: it names endpoint "
        "or resource, this policy names service");
  Asked below(policies({policy("live", R"({"service":"s"})"), policy("low", "{}", mode)}), kRequest);
  CHECK(below.said_of("low") ==
        "shadow_not_judged: in shadow mode below the deciding policy, not judged: live is more specific: it names "
        "service, this policy names no dimension with a level");
  Asked only(policies({policy("first", R"({"service":"s"})", mode), policy("second", "{}", mode)}), kRequest);
  CHECK(only.said_of("first") == "decides: only shadow policies apply: judged and reported, never enforced");
  CHECK(only.said_of("second").starts_with(
      "shadow_not_judged: in shadow mode below another shadow, not judged: first is more specific"));
}

TEST_CASE("a policy that does not apply says why") {
  Asked asked(policies({policy("disabled", "{}", R"("enabled":false)"),
                        policy("later", "{}", R"("valid_from":"2100-01-01T00:00:00Z")"),
                        policy("over", "{}", R"("valid_to":"2020-01-01T00:00:00Z")"),
                        policy("expression", "{}", R"("match_expr":"region==us")"),
                        policy("orders", "{}", R"("rollout_percent":81.71)"), policy("live", "{}")}),
              kRequest);
  CHECK(asked.decides() == "live");
  CHECK(asked.said_of("disabled") == "disabled: enabled is false");
  CHECK(asked.said_of("later") == "not_yet_valid: valid_from is 2100-01-01T00:00:00Z");
  CHECK(asked.said_of("over") == "expired: valid_to was 2020-01-01T00:00:00Z");
  CHECK(asked.said_of("expression") == "expression_false: its match_expr is false for this request");
  CHECK(asked.said_of("orders") ==
        "outside_rollout: rollout_percent covers rollout numbers below 8171; this request has number 8171");
}

TEST_CASE("a policy about something else is no candidate") {
  Asked asked(policies({policy("other", R"({"resource":"GET:/b"})"), policy("live", "{}")}), kRequest);
  CHECK(asked.said_of("other") == "");
  CHECK(asked.candidates.shown.size() == 1);
}

TEST_CASE("outranked by the level: both are named") {
  CHECK(outranked(R"({"subject":"user:42"})", R"({"service":"s"})") ==
        "outranked: winner is more specific: it names user or subject, this policy names service");
}

TEST_CASE("every level has a name") {
  const char* names[kLevels] = {"user or subject",
                                "api_key or client",
                                "endpoint or resource",
                                "operation",
                                "service",
                                "application",
                                "tenant",
                                "org",
                                "signal",
                                "no dimension with a level"};
  for (int level = 0; level < kLevels; ++level) CHECK(level_name(level) == names[level]);
}

TEST_CASE("outranked by a method, a priority, the number of dimensions, a version, an id") {
  const std::string route = R"({"resource":"GET:/a"})";
  CHECK(outranked(R"({"resource":"GET:/a","method":"GET"})", route) ==
        "outranked: winner names a method beside the route, this policy does not");
  CHECK(outranked(route, route, R"("priority":5)") ==
        "outranked: winner has the higher priority: 5, this policy has 0");
  CHECK(outranked(R"({"service":"s","region":"eu"})", R"({"service":"s"})") ==
        "outranked: winner is narrower: it names 2 dimensions, this policy names 1");
  CHECK(outranked(route, route, R"("version":3)") == "outranked: winner has the higher version: 3, this policy has 1");
  CHECK(outranked(route, route) ==
        "outranked: the two differ only in their ids, and winner sorts first: give one of them a priority");
}

TEST_CASE("outranked by what is narrower: the dimension and both widths") {
  CHECK(outranked(R"({"resource":"GET:/a"})", R"({"resource":"GET:*"})") ==
        "outranked: winner is narrower in resource: it has an exact value, this policy has a prefix of 4 bytes");
  CHECK(outranked(R"({"resource":"GET:*"})", R"({"resource":["GET:/a","*"]})") ==
        "outranked: winner is narrower in resource: it has a prefix of 4 bytes, this policy has a prefix of 0 bytes");
  CHECK(outranked(R"({"endpoint":"*"})", R"({"resource":"GET:/a"})") ==
        "outranked: winner names endpoint, and this policy does not");
}

TEST_CASE("outranked by a narrower source_ip: an address is exact, a block is no prefix of the text") {
  auto sources = [](const std::string& winner_ip, const std::string& loser_ip) {
    return outranked(R"({"source_ip":)" + winner_ip + "}", R"({"source_ip":)" + loser_ip + "}");
  };
  CHECK(sources(R"("10.0.0.7")", R"("10.0.0.0/8")") ==
        "outranked: winner is narrower in source_ip: it has an exact value, this policy has an address block");
  CHECK(sources(R"("10.0.0.0/24")", R"("10.0.0.0/8")") ==
        "outranked: winner is narrower in source_ip: it has an address block, this policy has a wider one");
  CHECK(sources(R"("10.0.0.0/8")", R"("10.*")") ==
        "outranked: winner is narrower in source_ip: it has an address block, this policy has a prefix of 3 bytes");
  CHECK(sources(R"("10.0.0.7")", R"(["10.0.0.7","10.*"])") ==
        "outranked: winner is narrower in source_ip: it has an exact value, this policy has a prefix of 3 bytes");
}

TEST_CASE("candidates come with version and plan, in order of precedence") {
  const std::string members =
      R"("plans":[{"id":"pro","limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}],"policies":[
        {"id":"wide","scope":{},"plan_id":"pro","version":3},
        {"id":"narrow","scope":{"service":"s"},"limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}])";
  Asked asked(members, kRequest);
  REQUIRE(asked.candidates.shown.size() == 2);
  CHECK(asked.candidates.shown[0].policy_id == "narrow");
  CHECK(asked.candidates.shown[0].policy_version == 1);
  CHECK(asked.candidates.shown[0].plan_id == "");
  CHECK(asked.candidates.shown[1].policy_id == "wide");
  CHECK(asked.candidates.shown[1].policy_version == 3);
  CHECK(asked.candidates.shown[1].plan_id == "pro");
}

std::vector<std::string> services(int count, const std::string& more = "") {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back(policy("p" + std::to_string(i), R"({"service":"s"})", more));
  return all;
}

TEST_CASE("64 candidates are shown and the others counted") {
  Asked whole(policies(services(64)), kRequest);
  CHECK(whole.candidates.shown.size() == 64);
  CHECK(whole.candidates.omitted == 0);
  Asked more(policies(services(70)), kRequest);
  CHECK(more.candidates.shown.size() == 64);
  CHECK(more.candidates.omitted == 6);
  CHECK(more.candidates.shown[0].policy_id == more.decides());
}

TEST_CASE("who judges is shown however many candidates rank above") {
  std::vector<std::string> all = services(70, R"("enabled":false)");
  all.push_back(policy("beside", R"({"region":"eu"})", R"("mode":"shadow")"));
  all.push_back(policy("live", "{}"));
  all.push_back(policy("wide", "{}", R"("priority":-1)"));
  Asked asked(policies(all), kRequest);
  CHECK(asked.candidates.shown.size() == 66);
  CHECK(asked.candidates.omitted == 7);
  CHECK(asked.said_of("beside").starts_with("shadow_judged: "));
  CHECK(asked.said_of("live").starts_with("decides: "));
}

TEST_CASE("without a candidate there is nothing to explain") {
  Asked asked(policies({policy("other", R"({"resource":"GET:/b"})")}), kRequest);
  CHECK(asked.candidates.shown.empty());
  CHECK(asked.candidates.omitted == 0);
}

}  // namespace
}  // namespace sluice::policy
