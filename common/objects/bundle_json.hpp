// The bundle `sluice/v1` as JSON.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/json/tree.hpp"

namespace sluice {

// Checks a `match_expr`: returns one sentence about its fault, or nullopt. Callers pass policy::check_expression(),
// because this folder must not depend on common/policy.
using ExpressionCheck = std::optional<std::string> (*)(std::string_view expression);

// Who wrote a document. What Sluice wrote is canonical, and keeps the meaning that it had when it was stored. What a
// person wrote may have names of other limiters in members that are free otherwise: `match_expr` in the metadata of a
// policy. What it leaves out has the default of new objects: `require_key_by` is true.
enum class Author : std::uint8_t { sluice, person };

// Accepts the canonical form and every shorthand. Checks match expressions only if `check` is set. Returns all faults,
// each with its JSON pointer, line and column.
std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check = nullptr);

// As parse_bundle(), for a bundle that a person wrote. Adds the notes for that person to `notes` (FaultList::note()),
// without line and column.
std::expected<Bundle, Faults> parse_written_bundle(std::string_view json, ExpressionCheck check, Faults& notes);
// Faults have no line and column.
std::expected<Bundle, Faults> read_written_bundle(const json::Value& document, ExpressionCheck check, Faults& notes);

// Writes the canonical form, as users see it: parse_bundle(write_bundle(b)) == b.
std::string write_bundle(const Bundle& bundle);

}  // namespace sluice
