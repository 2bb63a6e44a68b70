#include "common/json/fault_place.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::json {
namespace {

// The place of `pointer` in `json`, as "line:column".
std::string place(std::string_view json, std::string pointer) {
  Faults faults{{std::move(pointer), "x"}};
  locate_faults(json, faults);
  return std::to_string(faults[0].line) + ":" + std::to_string(faults[0].column);
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

}  // namespace sluice::json
