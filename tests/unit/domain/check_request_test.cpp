#include "common/domain/check_request.hpp"

#include <doctest/doctest.h>

#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/domain/parsed_check.hpp"

using namespace sluice;
using namespace sluice::check_tests;

TEST_CASE("the example of the contract is read") {
  const Parsed p(R"({"resource":"GET:/orders","subject":"user:42","cost":1,"plan_id":"pro"})");
  REQUIRE(p.ok());
  CHECK(p.value(Dimension::resource) == "GET:/orders");
  CHECK(p.value(Dimension::subject) == "user:42");
  CHECK(p.request.requests == 1);
  CHECK(p.request.plan_id == "pro");
  CHECK(p.request.request_id.empty());
  CHECK_FALSE(p.request.explain);
}

TEST_CASE("every dimension of the contract is read into its own place") {
  const std::string_view names[] = {"application",    "service",  "environment", "signal",    "operation",
                                    "endpoint",       "method",   "user",        "client",    "client_id",
                                    "source_ip",      "region",   "severity",    "span_name", "topic",
                                    "consumer_group", "job_type", "priority",    "resource",  "subject"};
  for (const std::string_view name : names) {
    CAPTURE(name);
    const std::string text = name == "source_ip" ? "10.0.0.7" : "v";
    const Parsed p("{\"" + std::string(name) + "\":\"" + text + "\"}");
    REQUIRE(p.ok());
    const auto reference = parse_dimension(name);
    REQUIRE(reference);
    REQUIRE(p.request.find(*reference) != nullptr);
    CHECK(p.request.find(*reference)->text == text);
    std::size_t present = 0;
    for (const Value& value : p.request.dimensions) present += value.present ? 1 : 0;
    CHECK(present == 1);
  }
}

TEST_CASE("a dimension that is absent or empty is not found") {
  const Parsed p(R"({"resource":"r","subject":""})");
  REQUIRE(p.ok());
  CHECK(p.request.find({Dimension::resource, ""}) != nullptr);
  CHECK(p.request.find({Dimension::subject, ""}) == nullptr);
  CHECK(p.request.find({Dimension::user, ""}) == nullptr);
}

TEST_CASE("tags and attributes are found by name, unless they are empty") {
  const Parsed p(R"({"tags":{"env":"prod","empty":""},"attributes":{"http.route":"/x","env":"other"}})");
  REQUIRE(p.ok());
  REQUIRE(p.request.find({Dimension::tag, "env"}) != nullptr);
  CHECK(p.request.find({Dimension::tag, "env"})->text == "prod");
  CHECK(p.request.find({Dimension::tag, "empty"}) == nullptr);
  CHECK(p.request.find({Dimension::tag, "http.route"}) == nullptr);
  REQUIRE(p.request.find({Dimension::attr, "http.route"}) != nullptr);
  CHECK(p.request.find({Dimension::attr, "http.route"})->text == "/x");
  CHECK(p.request.find({Dimension::attr, "env"})->text == "other");
}

TEST_CASE("wait is read as durations are elsewhere, and what is none is refused") {
  using std::chrono::milliseconds;
  const auto wait_of = [](const std::string& text) {
    const Parsed parsed(R"({"resource":"r","wait":)" + text + "}");
    REQUIRE(parsed.ok());
    return parsed.request.wait;
  };
  CHECK_FALSE(Parsed(R"({"resource":"r"})").request.wait);
  CHECK(wait_of(R"("250ms")") == milliseconds(250));
  CHECK(wait_of(R"("1 minute")") == milliseconds(60'000));
  CHECK(wait_of(R"("2")") == milliseconds(2'000));
  CHECK(wait_of("2") == milliseconds(2'000));
  CHECK(wait_of("0") == milliseconds(0));
  for (const char* text : {R"("soon")", R"("-2s")", R"("")", R"("25h")", "99999999999999999"}) {
    CAPTURE(text);
    const Parsed parsed(std::string(R"({"resource":"r","wait":)") + text + "}");
    REQUIRE(parsed.faults.size() == 1);
    CHECK(parsed.refusal().starts_with("422 /wait: "));
    CHECK(parsed.refusal().find("Leave wait out") != std::string::npos);
  }
  for (const char* text : {"true", "null", "1.5", "-1", "2e3", "{}", "[]"}) {
    CAPTURE(text);
    const Parsed parsed(std::string(R"({"resource":"r","wait":)") + text + "}");
    REQUIRE(parsed.faults.size() == 1);
    CHECK(parsed.refusal().starts_with("400 /wait: must be a duration"));
  }
}

TEST_CASE("a wait that looks like milliseconds is refused, and both ways to write it are named") {
  for (const char* text : {"1000", "2000", R"("2000")", "90000", "2000000"}) {
    CAPTURE(text);
    const Parsed parsed(std::string(R"({"resource":"r","wait":)") + text + "}");
    REQUIRE(parsed.faults.size() == 1);
    CHECK(parsed.refusal().starts_with("422 /wait: a number without a unit is seconds, at most 999"));
  }
  const Parsed parsed(R"({"resource":"r","wait":2000})");
  CHECK(parsed.refusal().find(R"("2000ms" for milliseconds, "2000s" for seconds)") != std::string::npos);
  CHECK(Parsed(R"({"resource":"r","wait":999})").ok());
  CHECK(Parsed(R"({"resource":"r","wait":"2000s"})").ok());
  CHECK(Parsed(R"({"resource":"r","wait":"2000ms"})").ok());
}

TEST_CASE("request_id and explain are read") {
  const Parsed p(R"({"resource":"r","request_id":"abc","explain":true})");
  REQUIRE(p.ok());
  CHECK(p.request.request_id == "abc");
  CHECK(p.request.explain);
  CHECK_FALSE(Parsed(R"({"resource":"r","explain":false})").request.explain);
}

TEST_CASE("a call costs one request unless it says otherwise") {
  const Parsed p(R"({"resource":"r"})");
  CHECK(p.request.cost_of("requests") == 1);
  CHECK(p.request.cost_of("tokens") == 0);
}

TEST_CASE("a cost of 0 reads, and the largest cost is 2^31-1") {
  CHECK(Parsed(R"({"resource":"r","cost":0})").request.requests == 0);
  CHECK(Parsed(R"({"resource":"r","cost":-0})").request.requests == 0);
  const Parsed p(R"({"resource":"r","cost":2147483647})");
  CHECK(p.ok());
  CHECK(p.request.requests == 2147483647);
}

TEST_CASE("costs name several units; requests stays 1 unless named") {
  const Parsed p(R"({"resource":"r","costs":{"tokens":1200,"bytes":0}})");
  REQUIRE(p.ok());
  CHECK(p.request.cost_of("tokens") == 1200);
  CHECK(p.request.cost_of("bytes") == 0);
  CHECK(p.request.cost_of("requests") == 1);
  const Parsed named(R"({"resource":"r","costs":{"requests":3,"tokens":4}})");
  REQUIRE(named.ok());
  CHECK(named.request.requests == 3);
  CHECK(named.request.cost_of("requests") == 3);
  CHECK(named.request.costs.size() == 1);
}

TEST_CASE("cost and costs may come together where costs names other units") {
  const Parsed p(R"({"resource":"r","cost":5,"costs":{"tokens":7}})");
  REQUIRE(p.ok());
  CHECK(p.request.requests == 5);
  CHECK(p.request.cost_of("tokens") == 7);
}

TEST_CASE("escapes are undone in place, in values and in names") {
  const Parsed p(R"({"res\u006furce":"a\"\\\/\b\f\n\r\té€😀","t\u0061gs":{"e\u006ev":"\u0041"}})");
  REQUIRE(p.ok());
  CHECK(p.value(Dimension::resource) == "a\"\\/\b\f\n\r\té€😀");
  CHECK(p.request.find({Dimension::tag, "env"})->text == "A");
  const Parsed pair(R"({"resource":"\ud83d\ude00"})");
  REQUIRE(pair.ok());
  CHECK(pair.value(Dimension::resource) == "😀");
}

TEST_CASE("an escaped NUL is a character like any other: the text goes on behind it") {
  const Parsed p(R"({"subject":"user\u0000:42"})");
  REQUIRE(p.ok());
  CHECK(p.value(Dimension::subject) == std::string_view("user\0:42", 8));
}

TEST_CASE("white space is allowed wherever JSON allows it") {
  const Parsed p(" \r\n\t{ \"resource\" :\n\"r\" , \"tags\" : { \"a\" : \"b\" } , \"cost\" : 2 } \n");
  REQUIRE(p.ok());
  CHECK(p.request.requests == 2);
}

TEST_CASE("a request is reused: nothing of the one before stays") {
  CheckRequest request;
  std::string first = R"({"resource":"r","subject":"s","cost":9,"costs":{"t":1},"tags":{"a":"b"},)"
                      R"("attributes":{"c":"d"},"plan_id":"p","request_id":"i","explain":true,"wait":"2s"})";
  REQUIRE(parse_check(first, request).empty());
  std::string second = R"({"user":"u"})";
  REQUIRE(parse_check(second, request).empty());
  CHECK(request.find({Dimension::resource, ""}) == nullptr);
  CHECK(request.find({Dimension::subject, ""}) == nullptr);
  CHECK(request.requests == 1);
  CHECK(request.costs.empty());
  CHECK(request.tags.empty());
  CHECK(request.attributes.empty());
  CHECK(request.plan_id.empty());
  CHECK(request.request_id.empty());
  CHECK_FALSE(request.explain);
  CHECK_FALSE(request.wait);
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("a good check allocates nothing once the request's vectors have grown") {
  const std::string_view body = R"({"resource":"GET:/orders","subject":"us\u0065r:42","cost":1,"plan_id":"pro",)"
                                R"("tags":{"env":"prod","zone":"a"},"attributes":{"http.route":"/orders"}})";
  CheckRequest request;
  std::string copy(body);
  REQUIRE(parse_check(copy, request).empty());
  copy.assign(body);
  const AllocationCount count;
  const bool good = parse_check(copy, request).empty();
  CHECK(count.so_far() == 0);
  CHECK(good);
  CHECK(request.find({Dimension::subject, ""})->text == "user:42");
}
#endif
