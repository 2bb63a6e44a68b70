#include "agent/api/openapi.hpp"

#include <array>
#include <ranges>
#include <string>
#include <vector>

#include "agent/api/embedded.hpp"
#include "agent/api/routes.hpp"
#include "common/domain/algorithm.hpp"
#include "common/domain/check_fields.hpp"
#include "common/domain/decision.hpp"
#include "common/openapi/description.hpp"

namespace sluice::agent::api {
namespace {

constexpr std::array kFragments{embedded::authz, embedded::checks, embedded::leases, embedded::ratelimit,
                                embedded::service};

openapi::Operation operation_of(const Route& route) {
  openapi::Operation operation{.method = route.method, .path = route.path, .open = route.is_open()};
  operation.problems = {{"400", "BadRequest"}, {"405", "MethodNotAllowed"}, {"408", "Timeout"},
                        {"413", "TooLarge"},   {"431", "HeadersTooLarge"},  {"500", "InternalError"}};
  if (route.is_open()) {
    operation.head = true;
    operation.successes = {{"200", {"Success.", {}}}};
  } else {
    operation.problems.insert({{"401", "Unauthorized"}, {"411", "LengthRequired"}});
    operation.parameters = {"RequestId"};
  }
  if (route.has_body()) {
    operation.problems.insert({"415", "UnsupportedMediaType"});
    operation.media = {"application/json"};
  }
  if (route.any_method) operation.problems.erase("405");
  return operation;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string assemble() {
  const std::vector<json::Field> check = check_field_rows();
  const std::string reasons = joined(kReasonNames);
  const std::string algorithms =
      joined(algorithms_without_shorthands() | std::views::transform(&AlgorithmTraits::name));
  const std::array decision{json::Field{.name = "reason", .choices = reasons},
                            json::Field{.name = "algorithm", .choices = algorithms}};
  const std::array tables{json::FieldTable{"check", check}, json::FieldTable{"decision", decision}};
  openapi::Description description(embedded::openapi, kFragments, tables);
  for (const Route& route : kRoutes) description.add(operation_of(route));
  return description.text();
}

}  // namespace

std::string_view openapi_document() {
  static const std::string text = assemble();
  return text;
}

}  // namespace sluice::agent::api
