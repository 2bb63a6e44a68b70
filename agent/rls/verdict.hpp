// Makes the response from what was decided about each descriptor. Pure functions.
#pragma once

#include <span>
#include <string>

#include "agent/rls/message.hpp"
#include "common/rls_config/config.hpp"

namespace sluice::agent::rls {

struct DescriptorVerdict {
  const Descriptor* descriptor = nullptr;
  const rls_config::Rule* rule = nullptr;  // the rule that judged; nullptr: none, or a limit of the request
  Status status;
  bool over_limit = false;  // also of shadow_mode
};

struct ResponseParts {
  bool headers = false;   // RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset
  bool metadata = false;  // dynamic_metadata
};

// A request is over the limit if one of its descriptors is. Descriptors with quota_mode are different: those of one
// model (entries `backend_name` and `model_name_override`) are a group, a group is over if one of it is, and the
// request is over if all groups are.
Response make_response(const Request& request, std::span<const DescriptorVerdict> verdicts, ResponseParts parts);

}  // namespace sluice::agent::rls
