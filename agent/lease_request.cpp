#include "agent/lease_request.hpp"

#include "common/domain/json_fields.hpp"
#include "common/domain/json_tree.hpp"
#include "common/limiter/lease_id.hpp"

namespace sluice::agent {

std::expected<std::string, Faults> parse_lease_request(std::string_view body) {
  JsonTree tree;
  auto document = tree.parse(body);
  if (!document) return std::unexpected(Faults{document.error()});
  FaultList faults;
  Fields fields(*document, Place(), faults);
  auto id = fields.text("lease_id", limiter::kMaxLeaseId);
  if (fields.is_object()) fields.require("lease_id", "name the lease as the check answered it");
  fields.reject_unknown();
  if (faults.count() > 0) return std::unexpected(faults.take());
  return std::string(*id);
}

}  // namespace sluice::agent
