// The description of the check listener's API (OpenAPI 3.1), as the agent serves it at /openapi.json.
#pragma once

#include <string_view>

namespace sluice::agent::api {

std::string_view openapi_document();  // agent/api/openapi.json, byte for byte

}  // namespace sluice::agent::api
