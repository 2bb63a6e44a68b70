// Bundles for the tests of the library.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace sluice {

// One tenant with one policy by subject. `limits`: in JSON; `more`: further members of the policy, and `objects` of the
// bundle, each after a comma.
inline std::string bundle_of(std::string_view limits, std::string_view more = "", std::string_view objects = "") {
  return fmt::format(R"({{"format":"sluice/v1","tenants":[{{"id":"shop"}}],"policies":[{{"tenant_id":"shop",
"id":"orders","scope":{{"resource":"GET:/orders"}},"key_by":["subject"],"limits":[{}]{}}}]{}}})",
                     limits, more, objects);
}

inline std::string fixed_window(int limit, std::string_view more = "") {
  return fmt::format(R"({{"name":"rate","algorithm":"fixed_window","limit":{},"window":"1h"{}}})", limit, more);
}

// Two tenants, each with one request an hour.
constexpr std::string_view kTwoTenants = R"({"format":"sluice/v1","tenants":[{"id":"shop"},{"id":"bank"}],"policies":[
{"tenant_id":"shop","id":"orders","scope":{"resource":"GET:/orders"},"key_by":["subject"],
 "limits":[{"name":"rate","algorithm":"fixed_window","limit":1,"window":"1h"}]},
{"tenant_id":"bank","id":"loans","scope":{"resource":"GET:/orders"},"key_by":["subject"],
 "limits":[{"name":"rate","algorithm":"fixed_window","limit":1,"window":"1h"}]}]})";

}  // namespace sluice
