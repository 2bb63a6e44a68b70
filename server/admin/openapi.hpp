// The OpenAPI 3.1 document of the admin API, assembled from `openapi.json`, the fragments in `operations/` and the
// table of routes.
//
// Thread safety: any thread; the first call assembles the document, which takes milliseconds.
#pragma once

#include <string_view>

namespace sluice::server::admin {

std::string_view openapi_document();

}  // namespace sluice::server::admin
