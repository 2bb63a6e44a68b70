// The description of the check listener's API (OpenAPI 3.1): the frame `openapi.json`, the fragments in `operations/`,
// and what follows from the table of routes.
//
// Thread safety: any thread; the first call assembles the document, which takes milliseconds.
#pragma once

#include <string_view>

namespace sluice::agent::api {

// Returns the document that the agent serves at /openapi.json.
std::string_view openapi_document();

}  // namespace sluice::agent::api
