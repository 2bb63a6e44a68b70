// The body of POST /v1/release and /v1/renew: {"lease_id":"…"}.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "common/base/error.hpp"

namespace sluice::agent::api {

// Returns the lease id. Does not check that the lease exists.
std::expected<std::string, Faults> parse_lease_request(std::string_view body);

}  // namespace sluice::agent::api
