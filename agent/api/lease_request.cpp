#include "agent/api/lease_request.hpp"

#include <fmt/core.h>

#include "common/json/fields.hpp"
#include "common/json/tree.hpp"
#include "common/limiter/lease_id.hpp"

namespace sluice::agent::api {

std::expected<std::string, Faults> parse_lease_request(std::string_view body) {
  json::Tree tree;
  auto document = tree.parse(body);
  if (!document) {
    Fault fault = document.error();
    if (fault.line > 0) fault.text += fmt::format(" (line {}, column {})", fault.line, fault.column);
    return std::unexpected(Faults{std::move(fault)});
  }
  json::FaultList faults;
  json::Fields fields(*document, json::Place(), faults);
  auto id = fields.text("lease_id", limiter::kMaxLeaseId);
  if (fields.is_object()) fields.require("lease_id", "copy it from the check's decision");
  fields.reject_unknown();
  if (faults.count() > 0) return std::unexpected(faults.take());
  return std::string(*id);
}

}  // namespace sluice::agent::api
