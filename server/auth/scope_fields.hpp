// The members by which documents say how far their holder reaches: organization_id and tenant_ids, of tokens and of
// bindings.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/fields.hpp"

namespace sluice::server::auth {

// Adds every fault of form; nothing where the member is absent. Whether what it names exists is for the caller to
// check.
std::optional<std::string> read_organization_id(json::Fields& fields);
// `holder`: "a token", for texts.
std::vector<std::string> read_tenant_ids(json::Fields& fields, std::string_view holder);

}  // namespace sluice::server::auth
