// The messages as JSON, by Protobuf's JSON mapping: `POST /json`.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "agent/rls/message.hpp"
#include "common/base/error.hpp"
#include "common/json/tree.hpp"

namespace sluice::agent::rls {

// The result points into `tree`. Names are accepted in camel case and as in the .proto file. Unknown names are faults.
// The faults have their line and column in `text`.
std::expected<Request, Faults> read_request(std::string_view text, json::Tree& tree);

// Appends the JSON. Fields with their default value are left out.
void write_response(const Response& response, std::string& out);

}  // namespace sluice::agent::rls
