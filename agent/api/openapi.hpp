// The OpenAPI 3.1 document of the agent's API, assembled from `openapi.json`, `operations/` and the table of routes.
//
// Thread safety: any thread. The first call takes milliseconds.
#pragma once

#include <string_view>

namespace sluice::agent::api {

std::string_view openapi_document();

}  // namespace sluice::agent::api
