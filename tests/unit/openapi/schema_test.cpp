#include "common/openapi/schema.hpp"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>

using namespace sluice;

namespace {

using json::Field;
using Type = json::Field::Type;

constexpr std::array kPlan{
    Field{.name = "id", .schema = "Id", .always = true, .help = "Unique."},
    Field{.name = "name", .type = Type::text, .min = 1, .max = 9, .body_only = true},
    Field{
        .name = "mode", .choices = "enforce (on), off", .schema = "Mode", .body_schema = "ModeBody", .fallback = "off"},
    Field{.name = "share", .type = Type::number, .max = 100, .places = 2},
    Field{.name = "most", .type = Type::integer, .min = -1, .max = 2'147'483'648, .fallback = "7", .help = "Units."},
    Field{
        .name = "wait", .type = Type::duration, .min = 1000, .max = 60'000'000, .schema = "Duration", .help = "Time."},
    Field{.name = "on", .type = Type::boolean},
    Field{.name = "kind", .type = Type::text, .choices = "plan"},
    Field{.name = "rest", .schema = "Rest"},
};
constexpr std::array kTables{json::FieldTable{"plan", kPlan}};

// The schemas `frame`, with those that the table refers to, completed; without the latter.
std::string completed(const std::string& frame) {
  const std::string others =
      R"("Id":{"type":"string","pattern":"^a","examples":["a"],"description":"An id."},"Mode":{"choices":"plan.mode"},)"
      R"("ModeBody":{"choices":"plan.mode","form":"body"},"Duration":{"type":"string"},"Rest":{"type":["object","null"]}})";
  json::Tree tree;
  const std::string text = openapi::complete_schemas(tree.parse("{" + frame + "," + others).value(), kTables);
  return text.substr(1, text.find(R"(,"Id":)") - 1);
}

std::string error_of(const std::string& frame) {
  try {
    completed(frame);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A body may leave out or null every field but the required ones") {
  CHECK(completed(R"("Body":{"fields":"plan","required":["id"],"additionalProperties":false})") ==
        R"("Body":{"additionalProperties":false,"type":"object","required":["id"],"properties":{)"
        R"("id":{"description":"Unique.","$ref":"#/components/schemas/Id"},)"
        R"("name":{"type":["string","null"],"minLength":1,"maxLength":9},)"
        R"("mode":{"description":"Default: off.","anyOf":[{"$ref":"#/components/schemas/ModeBody"},{"type":"null"}]},)"
        R"("share":{"type":["number","null"],"multipleOf":0.01,"minimum":0,"maximum":100},)"
        R"("most":{"description":"Units. Default: 7.","type":["integer","null"],"format":"int64","minimum":-1,)"
        R"("maximum":2147483648},)"
        R"("wait":{"description":"Time. From 1ms to 1m.","type":["string","null"]},"on":{"type":["boolean","null"]},)"
        R"("kind":{"type":["string","null"],"const":"plan"},"rest":{"$ref":"#/components/schemas/Rest"}}})");
}

TEST_CASE("The canonical form has no null, says what is left out, and always has some fields") {
  CHECK(completed(R"("Plan":{"fields":"plan","form":"document","description":"A plan."})") ==
        R"("Plan":{"description":"A plan.","type":"object","required":["id"],"properties":{)"
        R"("id":{"description":"Unique.","$ref":"#/components/schemas/Id"},)"
        R"("mode":{"description":"Left out if it is off.","$ref":"#/components/schemas/Mode"},)"
        R"("share":{"type":"number","multipleOf":0.01,"minimum":0,"maximum":100},)"
        R"("most":{"description":"Units. Left out if it is 7.","type":"integer","format":"int64","minimum":-1,)"
        R"("maximum":2147483648},)"
        R"("wait":{"description":"Time.","$ref":"#/components/schemas/Duration"},"on":{"type":"boolean"},)"
        R"("kind":{"type":"string","const":"plan"},"rest":{"$ref":"#/components/schemas/Rest"}}})");
}

TEST_CASE("A frame may describe a field itself, and add some") {
  const std::string text = completed(
      R"("Body":{"fields":"plan","nullable":false,"properties":{"more":{"type":"array"},"on":{"const":true}}})");
  CHECK(text.find(R"("on":{"const":true},"kind")") != std::string::npos);
  CHECK(text.find(R"("more":{"type":"array"}}})") != std::string::npos);
  CHECK(text.find("null") == std::string::npos);
}

TEST_CASE("The values of a field are a schema, in a body with their aliases") {
  CHECK(completed(R"("Mode2":{"description":"A mode.","choices":"plan.mode"})") ==
        R"("Mode2":{"description":"A mode.","type":"string","enum":["enforce","off"]})");
  CHECK(completed(R"("Mode2":{"choices":"plan.mode","form":"body"})") ==
        R"("Mode2":{"type":"string","enum":["enforce","on","off"]})");
}

TEST_CASE("A page has items and the cursor of the next one") {
  CHECK(completed(R"("Plans":{"page_of":"Plan"})") ==
        R"("Plans":{"type":"object","additionalProperties":false,"required":["items","next"],"properties":{)"
        R"("items":{"type":"array","items":{"$ref":"#/components/schemas/Plan"}},)"
        R"("next":{"$ref":"#/components/schemas/Next"}}})");
}

TEST_CASE("A schema that refers to a table or a field that is not there is an error") {
  CHECK(error_of(R"("A":{"fields":"planet"})") == "there is no table of fields planet");
  CHECK(error_of(R"("A":{"choices":"plan.colour"})") == "there is no field plan.colour");
  CHECK(error_of(R"("A":{"allOf":[{"choices":"mode"}]})") == "there is no table of fields mode");
}
