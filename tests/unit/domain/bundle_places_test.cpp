// Lines and columns of a bundle's faults, and expressions checked by whoever knows their language.
#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "bundle_helpers.hpp"
#include "common/domain/fault_place.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

// The place of `pointer` in `json`, as "line:column".
std::string place(std::string_view json, std::string pointer) {
  Faults faults{{std::move(pointer), "x"}};
  locate_faults(json, faults);
  return std::to_string(faults[0].line) + ":" + std::to_string(faults[0].column);
}

std::optional<std::string> no_x(std::string_view expression) {
  if (expression.find('x') == std::string_view::npos) return std::nullopt;
  return "column " + std::to_string(expression.find('x') + 1) + ": no x";
}

std::string policy_with(const std::string& id, const std::string& more) {
  return R"({"id":")" + id + R"(","rate":"1/s","endpoint":"e",)" + more + "}";
}

}  // namespace

TEST_CASE("a fault is placed where its value begins") {
  const std::string json = "{\n  \"a\": [1, {\"b\": true},\n        \"s\"],\n\t\"c\" : null }";
  CHECK(place(json, "") == "1:1");
  CHECK(place(json, "/a") == "2:8");
  CHECK(place(json, "/a/0") == "2:9");
  CHECK(place(json, "/a/1") == "2:12");
  CHECK(place(json, "/a/1/b") == "2:18");
  CHECK(place(json, "/a/2") == "3:9");
  CHECK(place(json, "/c") == "4:8");
  CHECK(place("\n \n [7]", "") == "3:2");
  CHECK(place("\n \n [7]", "/0") == "3:3");
}

TEST_CASE("columns of faults count characters, and a byte order mark is none") {
  CHECK(place("{\"größe\":\"日本\",\"b\":1}", "/b") == "1:19");
  CHECK(place("{\"größe\":\"日本\",\"b\":1}", "/größe") == "1:10");
  CHECK(place("\xEF\xBB\xBF{\"b\":1}", "") == "1:1");
  CHECK(place("\xEF\xBB\xBF{\"b\":1}", "/b") == "1:6");
  CHECK(place("{\r\n\"b\":1}", "/b") == "2:5");
}

TEST_CASE("a fault of what is missing is placed at the nearest value around it") {
  const std::string json = "{\"a\":[{},\n{\"b\":1}]}";
  CHECK(place(json, "/a/1/c") == "2:1");
  CHECK(place(json, "/a/0/c/d/e") == "1:7");
  CHECK(place(json, "/a/2") == "1:6");
  CHECK(place(json, "/a/x") == "1:6");
  CHECK(place(json, "/a/1/b/c") == "2:6");
  CHECK(place(json, "/z") == "1:1");
}

TEST_CASE("the names of a pointer are read as RFC 6901 writes them, those of the text as JSON does") {
  const std::string json = R"({"a/b":1,"m~n":2,"":3,"~1":4,"q\"\\":5,"\u00fc\ud83d\ude00":6,"01":7})";
  CHECK(place(json, "/a~1b") == "1:8");
  CHECK(place(json, "/m~0n") == "1:16");
  CHECK(place(json, "/") == "1:21");
  CHECK(place(json, "/~01") == "1:28");
  CHECK(place(json, "/q\"\\") == "1:38");
  CHECK(place(json, "/ü😀") == "1:61");
  CHECK(place(json, "/01") == "1:68");
  CHECK(place("[5,6]", "/01") == "1:1");  // no index of a list
}

TEST_CASE("braces, brackets and escaped quotes in strings lead no place astray") {
  const std::string json = R"({"x":"]}\"{[","y":{"z":"\\"},"w":["}",{"y":"\\\""}],"b":1})";
  CHECK(place(json, "/b") == "1:57");
  CHECK(place(json, "/w/1") == "1:39");
  CHECK(place(json, "/y/z") == "1:24");
}

TEST_CASE("of a name given twice the first is meant") {
  CHECK(place("{\"a\":{\"b\":1},\n\"a\":{\"b\":2}}", "/a/b") == "1:11");
  CHECK(place("{\"a\":1,\n\"a\":{\"b\":2}}", "/a/b") == "1:6");
}

TEST_CASE("a place that is known already stays") {
  Faults faults{{"/a", "x", 7, 8}, {"/a", "y"}};
  locate_faults("{\"a\":1}", faults);
  CHECK(faults[0].line == 7);
  CHECK(faults[0].column == 8);
  CHECK(faults[1].line == 1);
  CHECK(faults[1].column == 6);
}

TEST_CASE("what is no JSON ends the search and not the program") {
  for (const char* json : {"", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":}", "{\"a\" 1}", "{a:1}", "[1,,2", "]", "}", "{]",
                           "\"", "{\"a\":\"\\", "[[[", ",", "{\"\\u12\":1", "{\"a\":{\"b\":[}"}) {
    CAPTURE(json);
    Faults faults{{"/a/b/c", "x"}, {"/0/0/0", "y"}, {"", "z"}, {"no pointer", "w"}, {"/~", "v"}, {"/~2", "u"}};
    locate_faults(json, faults);
    for (const Fault& fault : faults) CHECK(fault.line == 1);
  }
}

TEST_CASE("every fault of a bundle has its line and column") {
  const Faults faults = faults_of(R"({"format":"sluice/v1","mode":"loud",
 "tenants":[{"id":"shop"}],
 "plans":[{"id":"pro","limits":[{"rate":"1/s"},
                                {"algorithm":"fixed","limit":-1,"window":"1s"}]}],
 "policies":[{"id":"p","plan_id":"gone"},
  {"id":"q","plan_id":"pro", "enabled":1}],
 "keys":[  {"id":"k"}]})");
  const auto at = [&](std::string_view pointer) {
    for (const Fault& fault : faults) {
      if (fault.pointer == pointer) return std::to_string(fault.line) + ":" + std::to_string(fault.column);
    }
    return std::string("none");
  };
  CHECK(faults.size() == 5);
  CHECK(at("/mode") == "1:30");
  CHECK(at("/plans/0/limits/1/limit") == "4:62");
  CHECK(at("/policies/0/plan_id") == "5:34");
  CHECK(at("/policies/1/enabled") == "6:40");
  CHECK(at("/keys/0/key_hash") == "7:12");  // missing: the key
}

TEST_CASE("a faulty match_expr is reported beside the other faults of a bundle") {
  const std::string json = shop("\"policies\":[" + policy_with("p", R"("match_expr":"a")") + ",\n" +
                                policy_with("q", R"("match_expr":"axa","priority":"high")") + "]");
  const auto bundle = parse_bundle(json, &no_x);
  REQUIRE_FALSE(bundle);
  CHECK(has_fault(bundle.error(), "/policies/1/match_expr", "column 2: no x"));
  CHECK(has_fault(bundle.error(), "/policies/1/priority", "whole number"));
  for (const Fault& fault : bundle.error()) CHECK(fault.line == 2);
}

TEST_CASE("an expression is only checked where there is one and somebody to check it") {
  const std::string json = shop("\"policies\":[" + policy_with("p", R"("match_expr":"x")") + "]");
  CHECK(parse_bundle(json));
  CHECK_FALSE(parse_bundle(json, &no_x));
  const auto refuse_all = [](std::string_view) { return std::optional<std::string>("refused"); };
  CHECK(parse_bundle(shop("\"policies\":[" + policy_with("p", R"("match_expr":"")") + "]"), refuse_all));
  CHECK(parse_bundle(shop("\"policies\":[" + policy_with("p", R"("match_expr":null)") + "]"), refuse_all));
}

TEST_CASE("ten thousand faults of a large document are placed in one pass") {
  std::string json = "{\"list\":[";
  Faults faults;
  constexpr std::size_t kItems = 200'000;
  for (std::size_t i = 0; i < kItems; ++i) {
    json += (i == 0 ? "{\"id\":\"" : ",{\"id\":\"") + std::to_string(i) + "\",\"text\":\"some [text] of an item\"}";
  }
  json += "]}";
  for (std::size_t i = 0; i < 10'000; ++i)
    faults.push_back({"/list/" + std::to_string(kItems - 1 - 19 * i) + "/text", "x"});
  const auto begin = std::chrono::steady_clock::now();
  locate_faults(json, faults);
  const auto taken = std::chrono::steady_clock::now() - begin;
  for (const Fault& fault : faults) {
    REQUIRE(fault.line == 1);
    REQUIRE(json.compare(fault.column - 1, 11, "\"some [text") == 0);
  }
  // One pass takes some 50 ms under a sanitizer; one for each fault, minutes.
  CHECK(taken < std::chrono::seconds(20));
}
