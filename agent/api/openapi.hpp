// The OpenAPI 3.1 document of the API (check_api). It is assembled from the components in `openapi.json`, the texts and
// examples in `operations/`, and the table of routes.
//
// Thread safety: any thread; the first call assembles the document, which takes milliseconds.
#pragma once

#include <string_view>

namespace sluice::agent::api {

// Returns the document that the agent serves at /openapi.json.
std::string_view openapi_document();

}  // namespace sluice::agent::api
