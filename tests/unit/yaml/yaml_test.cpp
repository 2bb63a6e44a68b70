// YAML as JSON.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/json/tree.hpp"
#include "common/yaml/yaml.hpp"
#include "common/yaml/yaml_scalar.hpp"

using namespace sluice;
using namespace sluice::yaml;

namespace {

// The JSON on one line, or "line:column text" of the fault.
std::string as_json(std::string_view yaml) {
  auto made = json_of_yaml(yaml);
  if (!made) return fmt::format("{}:{} {}", made.error().line, made.error().column, made.error().text);
  json::Tree tree;
  REQUIRE(tree.parse(made->json));
  std::string text;
  for (const char c : made->json) {
    if (c != '\n') text += c;
  }
  CHECK(made->positions.size() == static_cast<std::size_t>(std::ranges::count(made->json, '\n')) + 1);
  return text;
}

bool refused(std::string_view yaml, std::string_view place, std::string_view why) {
  const std::string said = as_json(yaml);
  const bool good = said.starts_with(std::string(place) + " ") && said.find(why) != std::string::npos;
  if (!good) MESSAGE(said);
  return good;
}

// "line:column" of a pointer.
std::string place_of(std::string_view yaml, std::string pointer) {
  const auto made = json_of_yaml(yaml);
  REQUIRE(made);
  Faults faults{{std::move(pointer), "here"}};
  made->locate(faults);
  return fmt::format("{}:{}", faults[0].line, faults[0].column);
}

}  // namespace

TEST_CASE("Block and flow style become the same JSON") {
  CHECK(as_json("a: 1\nb:\n  - x\n  - {y: z}\n") == R"({"a":1,"b":["x",{"y":"z"}]})");
  CHECK(as_json(R"({a: 1, b: [x, {y: z}]})") == R"({"a":1,"b":["x",{"y":"z"}]})");
  CHECK(as_json("- []\n- {}\n- \n") == "[[],{},null]");
  CHECK(as_json("text: |\n  two\n  lines\nfolded: >\n  one\n  line\n") ==
        R"({"text":"two\nlines\n","folded":"one line\n"})");
}

TEST_CASE("JSON is YAML") {
  CHECK(as_json(R"({"a":[1,2.50,true,null,"x\ty"],"b":{"c":"\u00e9"}})") ==
        "{\"a\":[1,2.50,true,null,\"x\\ty\"],\"b\":{\"c\":\"é\"}}");
}

TEST_CASE("Plain scalars follow the core schema of YAML 1.2, and numbers keep their digits") {
  const auto plain = [](std::string_view text) { return json_of_plain(text).value_or("refused"); };
  for (const std::string_view null : {"", "~", "null", "Null", "NULL"}) CHECK(plain(null) == "null");
  for (const std::string_view yes : {"true", "True", "TRUE"}) CHECK(plain(yes) == "true");
  for (const std::string_view no : {"false", "False", "FALSE"}) CHECK(plain(no) == "false");
  for (const std::string_view text :
       {"yes", "No", "on", "off", "y",   "tRUE", "nULL", "2024-01-01", "1_000", "1:30", "-",  "+",
        ".",   "1e", "e5", "0x",  "0xg", "0o8",  "-0x1", "1.2.3",      "1 2",   "--1",  ".e3"}) {
    CHECK(plain(text) == fmt::format("\"{}\"", text));
  }
  CHECK(plain("0.333333") == "0.333333");
  CHECK(plain("1.50") == "1.50");
  CHECK(plain("-7") == "-7");
  CHECK(plain("+7") == "7");
  CHECK(plain("007") == "7");
  CHECK(plain("-0") == "-0");
  CHECK(plain("000") == "0");
  CHECK(plain(".5") == "0.5");
  CHECK(plain("5.") == "5");
  CHECK(plain("1E+6") == "1e6");
  CHECK(plain("2.5e-3") == "2.5e-3");
  CHECK(plain("0o17") == "15");
  CHECK(plain("0xFf") == "255");
  CHECK(plain("0xffffffffffffffff") == "18446744073709551615");
  for (const std::string_view none : {"0x1ffffffffffffffff", ".inf", "-.INF", "+.Inf", ".nan", ".NaN"}) {
    CHECK(plain(none) == "refused");
  }
}

TEST_CASE("Quoted scalars and !!str are texts, whatever they look like") {
  CHECK(as_json(R"(["1", 'true', "null", !!str 12, "", ''])") == R"(["1","true","null","12","",""])");
  CHECK(as_json("- |-\n  12\n") == R"(["12"])");
}

TEST_CASE("Names are texts as they are written") {
  CHECK(as_json("{1: a, true: b, \"x y\": c}") == R"({"1":"a","true":"b","x y":"c"})");
  CHECK(refused("{[a]: b}", "1:2", "a name must be a text"));
  CHECK(refused("{~: b}", "1:2", "must not be empty"));
  CHECK(refused("? {a: b}\n: c\n", "1:3", "a name must be a text"));
}

TEST_CASE("A name given twice is left for the reader to refuse, with both values") {
  CHECK(as_json("a: 1\na: 2\n") == R"({"a":1,"a":2})");
}

TEST_CASE("Aliases repeat what their anchor names") {
  CHECK(as_json("a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]\n") ==
        R"({"a":{"b":[1,2]},"c":{"b":[1,2]},"d":[{"b":[1,2]},{"b":[1,2]}]})");
  CHECK(as_json("a: &x 1\nb: &x 2\nc: *x\n") == R"({"a":1,"b":2,"c":2})");
  CHECK(as_json("- &n\n- *n\n") == "[null,null]");
  CHECK(refused("a: *x\n", "1:4", ""));
  CHECK(refused("a: &x [*x]\n", "1:8", "contains it"));
  CHECK(refused("&x a: 1\n*x : 2\n", "2:1", "alias"));
  CHECK(refused("base: &b {a: 1}\nc:\n  <<: *b\n", "3:3", "merge keys"));
}

TEST_CASE("A billion laughs are refused before they are laughed") {
  std::string bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    bomb +=
        fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  CHECK(as_json(bomb).find("aliases add more than 16 MiB") != std::string::npos);
}

TEST_CASE("There are as many levels as in JSON, by aliases too") {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(as_json(nested(64)) == nested(64));
  CHECK(refused(nested(65), "1:65", "nested more than 64 deep"));
  CHECK(as_json(nested(10'000)).find("deep") != std::string::npos);
  CHECK(as_json(nested(10'001)).find("brackets are open") != std::string::npos);
  CHECK(as_json("- &x " + nested(40) + "\n- " + std::string(23, '[') + "*x" + std::string(23, ']')).starts_with("[[["));
  CHECK(
      as_json("- &x " + nested(40) + "\n- " + std::string(24, '[') + "*x" + std::string(24, ']')).find("nested more") !=
      std::string::npos);
}

TEST_CASE("Faults have the line and the column of the value they are about, in characters") {
  constexpr std::string_view text = "é: {ä: [ü, 2]}\nplans:\n  - id: a\n    limits:\n    - x: 1\n  - b\n";
  CHECK(place_of(text, "") == "1:1");
  CHECK(place_of(text, "/é") == "1:4");
  CHECK(place_of(text, "/é/ä/1") == "1:12");
  CHECK(place_of(text, "/plans") == "3:3");
  CHECK(place_of(text, "/plans/0/id") == "3:9");
  CHECK(place_of(text, "/plans/0/limits/0/x") == "5:10");
  CHECK(place_of(text, "/plans/0/limits/0/missing") == "5:7");
  CHECK(place_of(text, "/plans/1") == "6:5");
  // What an alias repeats is where it was written.
  CHECK(place_of("a: &x {b: 1}\nc: *x\n", "/c") == "2:4");
  CHECK(place_of("a: &x {b: 1}\nc: *x\n", "/c/b") == "1:11");
}

TEST_CASE("What is no YAML is refused where it stops being some") {
  CHECK(refused("a: [1, 2\n", "2:1", "not YAML"));
  CHECK(refused("a: b: c\n", "1:5", "not YAML"));
  CHECK(refused("", "1:1", "no document"));
  CHECK(refused("a: 1\n---\nb: 2\n", "1:1", "more than one document"));
  CHECK(refused("a: !secret x\n", "1:4", "the tag"));
  CHECK(refused("a: !!binary aGk=\n", "1:4", "the tag"));
  CHECK(refused("a: .inf\n", "1:4", "not a finite number"));
  CHECK(refused("a: \xFF\n", "1:1", "UTF-8"));
  CHECK(refused(std::string_view("a: \0\n", 5), "1:1", "NUL"));
  CHECK(refused(std::string(kMaxYamlBytes + 1, ' '), "1:1", "4 MiB"));
}

TEST_CASE("A tab in the indentation is named, at the tab") {
  const std::string_view words = "not YAML: a tab in the indentation: indent with blanks";
  CHECK(refused("\tx: 1\n", "1:1", words));
  CHECK(refused("a:\n\tb: 1\n", "2:1", words));
  CHECK(refused("a:\n  - x\n \t- y\n", "3:2", words));
  CHECK(as_json("a: x\ty\n") == R"({"a":"x\ty"})");
  CHECK(refused("a: x\ty: z\n", "1:7", "write a text that has one in quotes"));
}

TEST_CASE("A text that must be in quotes is named as such") {
  CHECK(refused("scope: {resource: *}\n", "1:20", "write a text that begins with * in quotes"));
  CHECK(refused("scope:\n  resource: *\n", "2:14", "write a text that begins with * in quotes"));
  CHECK(refused("host: *.example.com\n", "1:7", "write a text that begins with * in quotes"));
  CHECK(refused("a: &\n", "1:5", "begins with & in quotes"));
  CHECK(refused("a: @x\n", "1:4", "must be in quotes"));
  CHECK(refused("name: Note: this\n", "1:11", "write a text that has one in quotes"));
  CHECK(as_json("scope: {resource: \"*\"}\n") == R"({"scope":{"resource":"*"}})");
}

TEST_CASE("A byte order mark, comments and a document's marks are nothing") {
  CHECK(as_json("\xEF\xBB\xBF%YAML 1.2\n---\n# a bundle\na: 1 # one\n...\n") == R"({"a":1})");
}
