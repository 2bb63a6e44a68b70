#include "server/playground/check_answer.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::server::playground;
using namespace std::chrono_literals;

TEST_CASE("An answer has the agent's status, both latencies, all headers in order, and the body as a text") {
  const http_client::Response response{.status = 429,
                                       .fields = {{"retry-after", "1"}, {"set-cookie", "a"}, {"set-cookie", "b"}},
                                       .body = "{\"a\":\"<b>\"}"};
  CHECK(answer_json(response, 700us, 1'000us) ==
        R"({"status":429,"agent_us":700,"server_us":300,"headers":[["retry-after","1"],["set-cookie","a"],)"
        R"(["set-cookie","b"]],"body":"{\"a\":\"<b>\"}"})");
}

TEST_CASE("A body that is no JSON stays a text") {
  const http_client::Response response{.status = 502, .fields = {}, .body = "\"},{\"status\":200\n"};
  CHECK(answer_json(response, 5us, 5us) ==
        R"({"status":502,"agent_us":5,"server_us":0,"headers":[],"body":"\"},{\"status\":200\n"})");
}

TEST_CASE("A check goes to the agent with its key in the header and nothing of it in the path") {
  const http_client::Request request = request_of({.caller = "token t", .key = "slk_a_b", .body = "{}"});
  CHECK(request.method == "POST");
  CHECK(request.target == "/v1/check");
  CHECK(request.fields == std::vector<std::pair<std::string, std::string>>{{"x-api-key", "slk_a_b"}});
  CHECK(request.bearer.empty());
}

TEST_CASE("A check of the playground may have all that policies match by, and no limits or waits of its own") {
  for (const char* name :
       {"resource", "subject", "region", "source_ip", "user", "tags", "attributes", "plan_id", "cost"}) {
    CAPTURE(name);
    CHECK(is_check_field(name));
  }
  for (const char* name : {"costs", "limit_override", "wait", "explain", "request_id", "tenant_id", "api_key",
                           "timestamp", "user_id", "quantity", "", "no_such_field"}) {
    CAPTURE(name);
    CHECK_FALSE(is_check_field(name));
  }
}
