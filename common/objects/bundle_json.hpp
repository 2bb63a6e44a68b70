// The bundle `sluice/v1` as JSON: the one file format of tenants, plans, policies, keys and overrides.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/json/tree.hpp"

namespace sluice {

// Checks a `match_expr`: returns one sentence about its fault, or nullopt. Callers pass policy::check_expression. It is
// a parameter because this folder must not depend on common/policy, which defines the expression language.
using ExpressionCheck = std::optional<std::string> (*)(std::string_view expression);

// Reads a bundle and accepts every shorthand. Checks shapes, ranges, unique ids, references between objects and, if
// `check` is set, every match_expr. Returns all faults at once, each with its JSON pointer, line and column.
std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check = nullptr);

// Does the same for a parsed document. The faults have no line and column.
std::expected<Bundle, Faults> read_bundle(const json::Value& document, ExpressionCheck check = nullptr);

// Writes the canonical form: parse_bundle(write_bundle(b)) == b.
std::string write_bundle(const Bundle& bundle);

}  // namespace sluice
