// The OpenAPI 3.1 document of the admin API. It is assembled from the frame `openapi.json` (schemas and other
// components), the fragments in `operations/` (texts and examples), and the table of routes.
//
// Thread safety: any thread; the first call assembles the document, which takes milliseconds.
#pragma once

#include <string_view>

namespace sluice::server::admin {

// The document that the server serves at /openapi.json.
std::string_view openapi_document();

}  // namespace sluice::server::admin
