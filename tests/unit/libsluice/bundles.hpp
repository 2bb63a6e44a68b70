// Bundles for the tests of the library.
#pragma once

#include <string>

#include <fmt/core.h>

namespace sluice {

// One tenant with one policy by subject. `limit`: a limit in JSON.
inline std::string bundle_of(const std::string& limit, const std::string& more = "") {
  return fmt::format(R"({{"format":"sluice/v1","tenants":[{{"id":"shop"}}],"policies":[{{"tenant_id":"shop",
"id":"orders","scope":{{"resource":"GET:/orders"}},"key_by":["subject"],"limits":[{}]{}}}]}})",
                     limit, more);
}

inline std::string fixed_window(int limit, const std::string& window = "1h") {
  return fmt::format(R"({{"name":"rate","algorithm":"fixed_window","limit":{},"window":"{}"}})", limit, window);
}

}  // namespace sluice
