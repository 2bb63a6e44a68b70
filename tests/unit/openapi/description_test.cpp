#include "common/openapi/description.hpp"

#include <doctest/doctest.h>

#include <array>
#include <stdexcept>

#include "common/json/edit.hpp"

using namespace sluice;

namespace {

constexpr std::string_view kFrame = R"({"openapi":"3.1.0","paths":{},"components":{"schemas":{}}})";
constexpr std::string_view kPlans = R"({"tag":"plans","operations":{
  "GET /plans":{"id":"listPlans","summary":"List.","description":"By id.","parameters":["ByTenant",{"name":"x"}],
    "responses":{"200":{"schema":"Plans","example":[null],"headers":["A"],"links":["Next"]},"404":{"description":"None."},
                 "409":"ConcurrentChange"}},
  "POST /plans":{"id":"createPlan","summary":"Create.","body":{"schema":"Plan","example":{},
    "application/yaml":{"schema":{"type":"string"},"example":"a: 1"}},
    "responses":{"201":{"description":"It is there.","headers":{"R":"Revision"}}}}}})";
constexpr std::array kFragments{kPlans};

openapi::Operation get_plans() {
  return {.method = "GET",
          .path = "/plans",
          .needs = "Needs read.",
          .extensions = {{"x-level", "tenant"}},
          .parameters = {"Limit"},
          .successes = {{"200", {"A page.", {"Id"}}}, {"204", {"Unused.", {}}}},
          .problems = {{"409", "Exists"}, {"500", "InternalError"}}};
}
openapi::Operation post_plans() {
  return {.method = "POST",
          .path = "/plans",
          .media = {"application/json", "application/yaml"},
          .successes = {{"201", {"Created.", {}}}}};
}

// The document as compact JSON.
std::string compact(const openapi::Description& description) {
  json::Tree tree;
  std::string text;
  json::append(text, tree.parse(description.text()).value());
  return text;
}

std::string error_of(auto action) {
  try {
    action();
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("An operation has what its fragment says and what its route implies; the fragment wins") {
  openapi::Description description(kFrame, kFragments, {});
  description.add(get_plans());
  description.add(post_plans());
  CHECK(
      compact(description) ==
      R"({"openapi":"3.1.0","paths":{"/plans":{"get":{"operationId":"listPlans","tags":["plans"],"summary":"List.",)"
      R"("description":"By id. Needs read.","x-level":"tenant",)"
      R"("parameters":[{"$ref":"#/components/parameters/ByTenant"},{"name":"x"},{"$ref":"#/components/parameters/Limit"}],)"
      R"("responses":{"200":{"description":"A page.",)"
      R"("headers":{"Id":{"$ref":"#/components/headers/Id"},"A":{"$ref":"#/components/headers/A"}},)"
      R"("content":{"application/json":{"schema":{"$ref":"#/components/schemas/Plans"},"example":[null]}},)"
      R"("links":{"Next":{"$ref":"#/components/links/Next"}}},)"
      R"("404":{"description":"None.","content":{"application/problem+json":{"schema":{"$ref":"#/components/schemas/Problem"}}}},)"
      R"("409":{"$ref":"#/components/responses/ConcurrentChange"},"500":{"$ref":"#/components/responses/InternalError"}}},)"
      R"("post":{"operationId":"createPlan","tags":["plans"],"summary":"Create.",)"
      R"("requestBody":{"required":true,"content":{)"
      R"("application/json":{"schema":{"$ref":"#/components/schemas/Plan"},"example":{}},)"
      R"("application/yaml":{"schema":{"type":"string"},"example":"a: 1"}}},)"
      R"("responses":{"201":{"description":"It is there.","headers":{"R":{"$ref":"#/components/headers/Revision"}}}}}}},)"
      R"("components":{"schemas":{}}})");
}

TEST_CASE("HEAD is described after GET, with the same problems and without a body") {
  constexpr std::array<std::string_view, 1> fragments{
      R"({"operations":{"GET /a":{"id":"a","summary":"A.","description":"All.","responses":{"200":{"schema":"A"}}}}})"};
  openapi::Description description(R"({"paths":{}})", fragments, {});
  description.add({.method = "GET",
                   .path = "/a",
                   .open = true,
                   .head = true,
                   .successes = {{"200", {"Here.", {}}}},
                   .problems = {{"400", "Bad"}}});
  CHECK(compact(description) ==
        R"({"paths":{"/a":{"get":{"operationId":"a","summary":"A.","description":"All.","security":[],"responses":{)"
        R"("200":{"description":"Here.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}},)"
        R"("400":{"$ref":"#/components/responses/Bad"}}},)"
        R"("head":{"operationId":"aHead","summary":"A. Headers only.","security":[],"responses":{)"
        R"("200":{"description":"The headers of the answer to GET, without a body."},)"
        R"("400":{"$ref":"#/components/responses/Bad"}}}}}})");
}

TEST_CASE("A route without prose, prose without a route, and a body on one side only are errors") {
  openapi::Description description(kFrame, kFragments, {});
  CHECK(error_of([&] { description.add({.method = "PUT", .path = "/plans"}); }) ==
        "PUT /plans is not described: add it to a fragment");
  CHECK(error_of([&] { description.add({.method = "POST", .path = "/plans"}); }) ==
        "POST /plans: the route and its fragment do not agree whether there is a body");
  openapi::Description partial(kFrame, kFragments, {});
  partial.add(get_plans());
  CHECK(error_of([&] { (void)partial.text(); }) == "POST /plans is in a fragment, but there is no such route");
  CHECK(error_of([] { openapi::Description("{", {}, {}); }).starts_with("a fragment of the API's description: "));
}

TEST_CASE("A program can ask which answers a fragment names") {
  const openapi::Description description(kFrame, kFragments, {});
  CHECK(description.answers("POST", "/plans", "201"));
  CHECK_FALSE(description.answers("POST", "/plans", "500"));
}
