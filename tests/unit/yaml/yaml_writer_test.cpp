// JSON as YAML, and back.
#include "common/yaml/yaml_writer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "common/json/edit.hpp"
#include "common/json/text.hpp"
#include "common/yaml/yaml.hpp"

namespace sluice::yaml {
namespace {

std::string written(std::string_view json) {
  json::Tree tree;
  const auto document = tree.parse(json);
  REQUIRE(document);
  return yaml_of_json(*document);
}

// The JSON that the YAML of `json` is read as, without spaces and line breaks outside texts.
std::string there_and_back(std::string_view json) {
  const auto read = json_of_yaml(written(json));
  REQUIRE(read);
  json::Tree tree;
  const auto document = tree.parse(read->json);
  REQUIRE(document);
  std::string text;
  json::append(text, *document);
  return text;
}

TEST_CASE("a bundle is written as a person would write it") {
  CHECK(
      written(
          R"({"format":"sluice/v1","mode":"shadow","plans":[{"id":"pro","limits":[{"name":"a","limit":10},{"name":"b",)"
          R"("window":"10s"}],"key_by":[]},{"id":"free","note":{}}],"keys":[],"matrix":[[1,2],[]]})") ==
      R"(format: sluice/v1
mode: shadow
plans:
  - id: pro
    limits:
      - name: a
        limit: 10
      - name: b
        window: "10s"
    key_by: []
  - id: free
    note: {}
keys: []
matrix:
  - - 1
    - 2
  - []
)");
}

TEST_CASE("what YAML reads as something else than a text is quoted") {
  for (const char* text :
       {"on",   "No",         "YES", "y",  "n",           "off", "true", "False", "null", "~",   "1",  "1e3", "0x1F",
        "1:30", "2027-03-31", "",    " a", "a ",          "a b", "#",    "a: b",  "-",    "- a", "*a", "&a",  "!t",
        "<<",   ".inf",       "a#b", "?",  "GET:/orders", "{",   "[",    "%",     "@",    "`",   "|",  ">"}) {
    CAPTURE(text);
    std::string json;
    json::append_string(json, text);
    CHECK(written(json) == json + "\n");
    CHECK(there_and_back(json) == json);
  }
  CHECK(written(R"({"on":1})") == "\"on\": 1\n");
  CHECK(written(R"("orders-v1.eu/west")") == "orders-v1.eu/west\n");
}

TEST_CASE("every text comes back as it was") {
  // Other readers take these for line breaks, or refuse them.
  CHECK(written("\"\xC2\x85\xE2\x80\xA8\xE2\x80\xA9\x7F\"") == "\"\\u0085\\u2028\\u2029\\u007f\"\n");
  for (const char* json : {R"("a\nb\tc\"d\\e")", R"("\u0001\u001f")", "\"\xC2\x85 \xE2\x80\xA8 \xE2\x80\xA9 \x7F\"",
                           "\"\xEF\xBB\xBFx\"", "\"\xF0\x9F\x98\x80\"", R"({"a":{"b":{"c":[{"d":[[{"e":null}]]}]}}})",
                           R"([true,false,null,-1.5,1e6,0])", R"({"":1,"a b":[{"x:":"y"}]})"}) {
    CAPTURE(json);
    json::Tree tree;
    std::string canonical;
    json::append(canonical, *tree.parse(json));
    CHECK(there_and_back(json) == canonical);
  }
}

}  // namespace
}  // namespace sluice::yaml
