// The response, from what was decided about each descriptor.
#include "agent/rls/verdict.hpp"

#include <doctest/doctest.h>

#include <deque>

#include "tests/unit/agent/rls/rig.hpp"

namespace sluice::agent::rls {
namespace {

// Verdicts about descriptors, in the order of the request.
class Judged {
 public:
  Judged& add(std::vector<rls_config::Entry> entries, Code code, std::uint32_t remaining, bool quota = false,
              std::string metadata = {}) {
    request_.descriptors.push_back(of(std::move(entries)));
    rls_config::Rule& its_rule = rules_.emplace_back();
    its_rule.quota_mode = quota;
    its_rule.metadata = std::move(metadata);
    Status status{.code = code, .limit = CurrentLimit{}, .remaining = remaining, .reset_seconds = 30};
    status.limit->requests_per_unit = 100 + remaining;
    statuses_.push_back(status);
    return *this;
  }

  Response response(ResponseParts parts = {}) {
    request_.domain = "d";
    std::vector<DescriptorVerdict> verdicts;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      verdicts.push_back({&request_.descriptors[i], &rules_[i], statuses_[i]});
    }
    return make_response(request_, verdicts, parts);
  }
  std::string metadata() { return response({.headers = false, .metadata = true}).metadata; }

 private:
  Request request_;
  std::deque<rls_config::Rule> rules_;
  std::vector<Status> statuses_;
};

std::string header(const Response& response, std::string_view name) {
  for (const Header& each : response.headers) {
    if (each.name == name) return each.value;
  }
  return {};
}

TEST_CASE("one descriptor over its limit is enough") {
  CHECK(Judged().add({{"a", "1"}}, Code::ok, 5).add({{"b", "1"}}, Code::over_limit, 0).response().code ==
        Code::over_limit);
  CHECK(Judged().add({{"a", "1"}}, Code::ok, 5).response().code == Code::ok);
}

TEST_CASE("with quota_mode, all groups must be over their limit") {
  Judged judged;
  judged.add({{"service", "a"}}, Code::over_limit, 0, true).add({{"service", "b"}}, Code::ok, 5, true);
  CHECK(judged.response().code == Code::ok);
  CHECK(judged.response().statuses[0].code == Code::over_limit);
  CHECK(Judged()
            .add({{"service", "a"}}, Code::over_limit, 0, true)
            .add({{"service", "b"}}, Code::over_limit, 0, true)
            .response()
            .code == Code::over_limit);
  CHECK(judged.add({{"plain", "x"}}, Code::over_limit, 0).response().code == Code::over_limit);
}

TEST_CASE("the descriptors of one model are one quota group") {
  const std::vector<rls_config::Entry> tenant{{"backend_name", "b"}, {"model_name_override", "m"}, {"tenant", "t"}};
  const std::vector<rls_config::Entry> model{{"backend_name", "b"}, {"model_name_override", "m"}};
  const std::vector<rls_config::Entry> other{{"backend_name", "b"}, {"model_name_override", "n"}};
  CHECK(Judged().add(tenant, Code::over_limit, 0, true).add(model, Code::ok, 5, true).response().code ==
        Code::over_limit);
  CHECK(Judged()
            .add(tenant, Code::over_limit, 0, true)
            .add(model, Code::ok, 5, true)
            .add(other, Code::ok, 5, true)
            .response()
            .code == Code::ok);
}

TEST_CASE("there are no headers and no metadata unless they are asked for") {
  const Response response = Judged().add({{"a", "1"}}, Code::ok, 5).response();
  CHECK(response.headers.empty());
  CHECK(response.metadata.empty());
}

TEST_CASE("the headers are about the descriptor with the least left, or the last one that refuses") {
  Judged judged;
  judged.add({{"a", "1"}}, Code::ok, 9).add({{"b", "1"}}, Code::ok, 3).add({{"c", "1"}}, Code::ok, 7);
  Response response = judged.response({.headers = true, .metadata = false});
  CHECK(header(response, "RateLimit-Limit") == "103");
  CHECK(header(response, "RateLimit-Remaining") == "3");
  CHECK(header(response, "RateLimit-Reset") == "30");
  judged.add({{"d", "1"}}, Code::over_limit, 0).add({{"e", "1"}}, Code::ok, 0);
  response = judged.response({.headers = true, .metadata = false});
  CHECK(header(response, "RateLimit-Limit") == "100");
  CHECK(header(response, "RateLimit-Remaining") == "0");
}

TEST_CASE("without a limit there are no headers") {
  const Request asked = request({of({{"a", "1"}})});
  const std::vector<DescriptorVerdict> verdicts{{&asked.descriptors[0], nullptr, {}}};
  CHECK(make_response(asked, verdicts, {.headers = true, .metadata = false}).headers.empty());
}

TEST_CASE("the metadata tell of the request and of the rules that passed") {
  Judged judged;
  judged.add({{"a", "1"}, {"b", "\""}}, Code::ok, 5, false, R"({"x":1,"n":{"p":1}})")
      .add({{"c", "1"}}, Code::over_limit, 0, false, R"({"y":2})")
      .add({{"e", "1"}}, Code::ok, 5, false, R"({"x":3,"n":{"p":2,"q":3},"z":[1]})");
  CHECK(judged.metadata() ==
        R"({"domain":"d","descriptors":[{"entries":["a=1","b=\""]},{"entries":["c=1"]},{"entries":["e=1"]}],)"
        R"("metadata":{"x":1,"n":{"p":1,"q":3},"z":[1]}})");
}

TEST_CASE("with quota_mode the metadata name the models that have quota left") {
  Judged judged;
  judged.add({{"backend_name", "b"}, {"model_name_override", "m"}, {"tenant", "t"}}, Code::over_limit, 0, true)
      .add({{"backend_name", "b"}, {"model_name_override", "m"}}, Code::ok, 5, true, R"({"m":1})")
      .add({{"backend_name", "b"}, {"model_name_override", "n"}}, Code::ok, 5, true, R"({"n":1})");
  const std::string metadata = judged.metadata();
  CHECK(metadata.find(R"("metadata":{"n":1},"passedBackends":[{"backend_name":"b","model_name_override":"n"}])") !=
        std::string::npos);
}

}  // namespace
}  // namespace sluice::agent::rls
