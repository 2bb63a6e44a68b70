// What a program asks reaches the core: each member by itself, within its range, and none in the check after it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "common/domain/check_rules.hpp"
#include "tests/unit/libsluice/engine_rig.hpp"

namespace sluice {
namespace {

using v1::Code;
using v1::Request;

struct RequestMember {
  std::string_view name;
  std::string_view Request::* member;
  std::string_view value;
};
constexpr RequestMember kRequestMembers[] = {{"resource", &Request::resource, "GET:/r"},
                                             {"subject", &Request::subject, "s"},
                                             {"method", &Request::method, "m"},
                                             {"endpoint", &Request::endpoint, "e"},
                                             {"user", &Request::user, "u"},
                                             {"client", &Request::client, "c"},
                                             {"client_id", &Request::client_id, "ci"},
                                             {"source_ip", &Request::source_ip, "203.0.113.7"},
                                             {"application", &Request::application, "a"},
                                             {"service", &Request::service, "sv"},
                                             {"environment", &Request::environment, "en"},
                                             {"signal", &Request::signal, "sg"},
                                             {"operation", &Request::operation, "o"},
                                             {"region", &Request::region, "rg"},
                                             {"severity", &Request::severity, "sy"},
                                             {"span_name", &Request::span_name, "sn"},
                                             {"topic", &Request::topic, "t"},
                                             {"consumer_group", &Request::consumer_group, "cg"},
                                             {"job_type", &Request::job_type, "j"},
                                             {"priority", &Request::priority, "p"}};

std::string policy_id_of(const RequestMember& member) {
  std::string id(member.name);
  std::ranges::replace(id, '_', '-');
  return id;
}

std::string policy_for(std::string_view id, std::string_view condition) {
  return fmt::format(
      R"({{"tenant_id":"shop","id":"{}",{},"key_by":[],"limits":[{{"name":"rate","algorithm":"fixed_window",
"limit":1000,"window":"1h"}}]}})",
      id, condition);
}

std::string bundle_with(const std::vector<std::string>& policies) {
  std::string text = R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"policies":[)";
  for (const std::string& each : policies) text += (&each == &policies.front() ? "" : ",") + each;
  return text + "]}";
}

std::string bundle_of_members() {
  std::vector<std::string> policies;
  for (const RequestMember& each : kRequestMembers) {
    policies.push_back(policy_for(policy_id_of(each), fmt::format(R"("scope":{{"{}":"{}"}})", each.name, each.value)));
  }
  return bundle_with(policies);
}

TEST_CASE("each member of a request is the dimension of its name, and is forgotten after the check") {
  EngineRig rig(bundle_of_members());
  for (const RequestMember& each : kRequestMembers) {
    CAPTURE(each.name);
    Request request;
    request.*each.member = each.value;
    CHECK(rig.check(request).policy == policy_id_of(each));
    CHECK(rig.check({.user = "another"}).reason == v1::Reason::no_policy);
  }
}

TEST_CASE("all dimensions of a request are forgotten after the check") {
  EngineRig rig(bundle_of_members());
  Request request;
  for (const RequestMember& each : kRequestMembers) request.*each.member = each.value;
  CHECK(rig.check(request).reason == v1::Reason::within_limit);
  CHECK(rig.check({.user = "another"}).reason == v1::Reason::no_policy);
}

TEST_CASE("an address is taken without its port") {
  EngineRig rig(bundle_with({policy_for("four", R"("scope":{"source_ip":"203.0.113.7"})"),
                             policy_for("six", R"("scope":{"source_ip":"2001:db8::1"})")}));
  CHECK(rig.check({.source_ip = "203.0.113.7:443"}).policy == "four");
  CHECK(rig.check({.source_ip = "[2001:db8::1]:443"}).policy == "six");
  CHECK(rig.check({.source_ip = "203.0.113.70"}).policy.empty());
}

TEST_CASE("each member that is a text has at most 256 bytes, of UTF-8") {
  EngineRig rig(bundle_of(fixed_window(1)));
  const std::string longest(256, 'x'), longer(257, 'x'), longest_broken = std::string(255, 'x') + '\xff';
  for (const RequestMember& each : kRequestMembers) {
    if (each.name == "source_ip") continue;
    CAPTURE(each.name);
    Request request;
    request.*each.member = longest;
    CHECK(rig.code(request) == Code::ok);
    request.*each.member = longer;
    CHECK(rig.code(request) == Code::invalid_request);
    CHECK(rig.decision.status.message == fmt::format("{}: {}", each.name, check_rules::kTextRule));
    request.*each.member = longest_broken;
    CHECK(rig.code(request) == Code::invalid_request);
    CHECK(rig.decision.status.message == fmt::format("{}: not UTF-8", each.name));
  }
}

TEST_CASE("a resource that is refused leaves nothing behind for the one before it") {
  EngineRig rig(bundle_of(fixed_window(100)));
  const Request orders{.resource = "GET:/orders?page=1", .subject = "a"};
  CHECK(rig.check(orders).policy == "orders");
  const std::string longer(257, 'x');
  CHECK(rig.code({.resource = longer}) == Code::invalid_request);
  CHECK(rig.check(orders).policy == "orders");
  CHECK(rig.check({.resource = "GET:/others?page=1", .subject = "a"}).policy.empty());  // of the same length
  const std::string query = "GET:/orders?" + std::string(300, 'x');
  CHECK(rig.check({.resource = query, .subject = "a"}).policy == "orders");  // which is not part of it
}

TEST_CASE("a request names a dimension, a plan, a tag or an attribute") {
  EngineRig rig(bundle_of(fixed_window(1), R"(,"require_key_by":false)",
                          R"(,"plans":[{"tenant_id":"shop","id":"pro","key_by":[],"limits":[{"name":"rate",
"algorithm":"fixed_window","limit":1,"window":"1h"}]}])"));
  const std::array<v1::Named, 1> named{{{"env", "prod"}}};
  const std::array<v1::Amount, 1> costs{{{"tokens", 1}}};
  CHECK(rig.code({}) == Code::invalid_request);
  CHECK(rig.code({.cost = 0, .costs = costs, .request_id = "r"}) == Code::invalid_request);
  CHECK(rig.code({.tags = named}) == Code::ok);
  CHECK(rig.code({.attributes = named}) == Code::ok);
  for (const RequestMember& each : kRequestMembers) {
    CAPTURE(each.name);
    Request request;
    request.*each.member = "";
    CHECK(rig.code(request) == Code::ok);
  }
  CHECK(rig.check({.plan = "pro"}).plan == "pro");
  CHECK(rig.check({.user = "u"}).plan.empty());
  const std::string longest(256, 'x'), longer(257, 'x');
  CHECK(rig.code({.plan = longest}) == Code::unknown_plan);
  CHECK(rig.code({.plan = longer}) == Code::invalid_request);
  CHECK(rig.decision.status.message == fmt::format("plan: {}", check_rules::kTextRule));
  CHECK(rig.code({.plan = "\xff"}) == Code::invalid_request);
  CHECK(rig.decision.status.message == "plan: not UTF-8");
}

TEST_CASE("tags and attributes reach their policies, and are forgotten after the check") {
  EngineRig rig(
      bundle_with({policy_for("tagged", R"("scope":{"tag.env":"prod","tag.zone":"b"})"),
                   policy_for("attributed", R"("match_expr":"attr.size == \"big\" && attr.of == \"box\"")")}));
  const std::array<v1::Named, 2> tags{{{"env", "prod"}, {"zone", "b"}}};
  const std::array<v1::Named, 2> attributes{{{"size", "big"}, {"of", "box"}}};
  CHECK(rig.check({.user = "u", .tags = tags}).policy == "tagged");
  CHECK(rig.check({.user = "u"}).policy.empty());
  CHECK(rig.check({.user = "u", .attributes = attributes}).policy == "attributed");
  CHECK(rig.check({.user = "u"}).policy.empty());
  CHECK(rig.check({.user = "u", .tags = attributes, .attributes = tags}).policy.empty());
}

TEST_CASE("names and values of tags and attributes have rules") {
  EngineRig rig(bundle_of(fixed_window(1)));
  const std::string longest(256, 'x'), longer(257, 'x'), broken = std::string(255, 'x') + '\xff';
  struct Row {
    v1::Named named;
    std::string_view fault;  // behind the field; "": none
  };
  const std::vector<Row> rows{{{longest, longest}, ""},
                              {{"env", ""}, ""},
                              {{longer, "a"}, ": a name is longer than 256 bytes"},
                              {{"", "a"}, ": a name is empty"},
                              {{broken, "a"}, ": a name is not UTF-8"},
                              {{"env", longer}, ".env: a string is at most 256 bytes of UTF-8 long"},
                              {{"env", broken}, ".env: not UTF-8"}};
  for (const Row& row : rows) {
    CAPTURE(row.fault);
    const std::array<v1::Named, 1> one{row.named};
    CHECK(rig.code({.user = "u", .tags = one}) == (row.fault.empty() ? Code::ok : Code::invalid_request));
    if (!row.fault.empty()) CHECK(rig.decision.status.message == fmt::format("tags{}", row.fault));
    CHECK(rig.code({.user = "u", .attributes = one}) == (row.fault.empty() ? Code::ok : Code::invalid_request));
    if (!row.fault.empty()) CHECK(rig.decision.status.message == fmt::format("attributes{}", row.fault));
  }
  const std::array<v1::Named, 2> same_values{{{"a", "x"}, {"b", "x"}}};
  const std::array<v1::Named, 2> value_is_name{{{"a", "b"}, {"b", "x"}}};
  const std::array<v1::Named, 2> twice{{{"a", "x"}, {"a", "y"}}};
  CHECK(rig.code({.user = "u", .tags = same_values, .attributes = same_values}) == Code::ok);
  CHECK(rig.code({.user = "u", .tags = value_is_name}) == Code::ok);
  CHECK(rig.code({.user = "u", .tags = twice}) == Code::invalid_request);
  CHECK(rig.code({.user = "u", .attributes = twice}) == Code::invalid_request);
  CHECK(rig.decision.status.message == "attributes.a: given twice");
}

TEST_CASE("a request has at most 64 names in each of its lists") {
  EngineRig rig(bundle_of(fixed_window(1'000), R"(,"require_key_by":false)"));
  std::vector<std::string> names;
  for (int i = 0; i < 65; ++i) names.push_back(fmt::format("n{}", i));
  std::vector<v1::Named> named;
  std::vector<v1::Amount> amounts;
  for (const std::string& name : names) {
    named.push_back({name, "x"});
    amounts.push_back({name, 1});
  }
  const std::span<const v1::Named> named64(named.data(), 64);
  const std::span<const v1::Amount> amounts64(amounts.data(), 64);
  CHECK(rig.code({.user = "u", .tags = named64, .attributes = named64, .costs = amounts64}) == Code::ok);
  const auto message = [&](const Request& request) {
    CHECK(rig.code(request) == Code::invalid_request);
    return rig.decision.status.message;
  };
  CHECK(message({.user = "u", .tags = named}) == "tags: holds more than 64 names");
  CHECK(message({.user = "u", .attributes = named}) == "attributes: holds more than 64 names");
  CHECK(message({.user = "u", .costs = amounts}) == "costs: holds more than 64 names");
  CHECK(message({.user = "u", .limits = amounts}) == "limits: holds more than 64 names");
  CHECK(message({.resource = "GET:/orders", .limits = amounts64}) != "limits: holds more than 64 names");
}

TEST_CASE("a check costs what it says of each unit, and one request if it says nothing") {
  EngineRig rig(bundle_of(
      R"({"name":"tokens","algorithm":"fixed_window","limit":100,"window":"1h","unit":"tokens"},
{"name":"rate","algorithm":"fixed_window","limit":1000,"window":"1h"})"));
  const std::string subject = "a";
  // What each limit has left, by the explanation.
  const auto left = [&](std::string_view limit) {
    const v1::Decision& decision =
        rig.check({.resource = "GET:/orders", .subject = subject, .cost = 0, .explain = true});
    const std::size_t at =
        decision.explanation.find(fmt::format(R"("name":"{}")", limit), decision.explanation.find("\"limits\""));
    REQUIRE(at != std::string::npos);
    const std::size_t number = decision.explanation.find("\"remaining\":", at) + 12;
    return std::atoi(decision.explanation.c_str() + number);
  };
  const auto check = [&](const Request& request) {
    Request asked = request;
    asked.resource = "GET:/orders";
    asked.subject = subject;
    return rig.code(asked);
  };
  CHECK(check({}) == Code::ok);
  CHECK(left("rate") == 999);
  CHECK(left("tokens") == 100);
  CHECK(check({.cost = 5}) == Code::ok);
  CHECK(left("rate") == 994);
  const std::array<v1::Amount, 2> both{{{"requests", 4}, {"tokens", 7}}};
  CHECK(check({.costs = both}) == Code::ok);
  CHECK(left("rate") == 990);
  CHECK(left("tokens") == 93);
  CHECK(check({}) == Code::ok);  // nothing of the last one is left
  CHECK(left("rate") == 989);
  CHECK(left("tokens") == 93);
  const std::array<v1::Amount, 1> none{{{"requests", 0}}};
  CHECK(check({.costs = none}) == Code::ok);
  CHECK(left("rate") == 989);

  const auto message = [&](const Request& request) {
    CHECK(check(request) == Code::invalid_request);
    return rig.decision.status.message;
  };
  CHECK(check({.cost = 2'147'483'647}) == Code::ok);
  const std::array<v1::Amount, 1> most{{{"tokens", 2'147'483'647}}}, more{{{"tokens", 2'147'483'648}}},
      less{{{"tokens", -1}}}, nameless{{{"", 1}}};
  CHECK(check({.costs = most}) == Code::ok);
  CHECK(message({.costs = more}) == "costs.tokens: a cost is at most 2147483647 (2^31-1)");
  CHECK(message({.costs = less}) == "costs.tokens: a cost is not negative");
  CHECK(message({.costs = nameless}) == "costs: a name is empty");
  const std::array<v1::Amount, 2> twice{{{"tokens", 1}, {"tokens", 1}}},
      requests_twice{{{"requests", 1}, {"requests", 1}}};
  CHECK(message({.costs = twice}) == "costs.tokens: given twice");
  CHECK(message({.costs = requests_twice}) == "costs.requests: given twice");
  const std::array<v1::Amount, 1> requests{{{"requests", 4}}};
  CHECK(message({.cost = 0, .costs = requests}).starts_with("costs.requests: both costs and cost give the cost"));
  CHECK(message({.cost = 2, .costs = requests}).starts_with("costs.requests: both costs and cost give the cost"));
  CHECK(left("rate") == 989);  // what is refused costs nothing
}

TEST_CASE("a check may bring the numbers of limits, for itself only") {
  EngineRig rig(bundle_of(fixed_window(10), R"(,"max_override":1125899906842624)"));
  const auto bring = [&](std::int64_t limit) -> const v1::Decision& {
    const std::array<v1::Amount, 1> limits{{{"rate", limit}}};
    return rig.check({.resource = "GET:/orders", .subject = "a", .cost = 0, .limits = limits});
  };
  const Request plain{.resource = "GET:/orders", .subject = "a", .cost = 0};
  CHECK(bring(1).limit == 1);
  CHECK(rig.check(plain).limit == 10);
  CHECK(bring(1'125'899'906'842'624).limit == 1'125'899'906'842'624);
  CHECK(bring(0).status.message.starts_with("limits.rate: a limit must be from 1 to 1125899906842624; got \"0\""));
  CHECK(bring(1'125'899'906'842'625).status.message.starts_with("limits.rate: a limit must be from 1 to"));
  const std::array<v1::Amount, 2> twice{{{"rate", 1}, {"rate", 2}}};
  Request request = plain;
  request.limits = twice;
  CHECK(rig.check(request).status.message == "limits.rate: given twice");
  const std::array<v1::Amount, 1> nameless{{{"", 1}}};
  request.limits = nameless;
  CHECK(rig.check(request).status.message == "limits: a name is empty");
}

TEST_CASE("the id of a request decides whether it is among the sampled ones, each time the same") {
  EngineRig rig(bundle_of(fixed_window(1), R"(,"action":"sample","sample_rate":0.5)"));
  rig.check({.resource = "GET:/orders", .subject = "a"});
  int sampled = 0;
  for (int i = 0; i < 64; ++i) {
    const std::string id = fmt::format("request-{}", i);
    const auto ask = [&] { return rig.check({.resource = "GET:/orders", .subject = "a", .request_id = id}).allowed; };
    const bool first = ask();
    CHECK(ask() == first);
    CHECK(ask() == first);
    if (first) ++sampled;
  }
  CHECK(sampled > 0);
  CHECK(sampled < 64);
  const std::string longest(256, 'x'), longer(257, 'x');
  CHECK(rig.code({.user = "u", .request_id = longest}) == Code::ok);
  CHECK(rig.code({.user = "u", .request_id = longer}) == Code::invalid_request);
  CHECK(rig.code({.user = "u", .request_id = "\xff"}) == Code::invalid_request);
  CHECK(rig.decision.status.message == "request_id: not UTF-8");
}

}  // namespace
}  // namespace sluice
