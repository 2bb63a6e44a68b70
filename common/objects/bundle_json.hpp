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

// What is wrong with a `match_expr`: one sentence, or nothing. policy::check_expression
// is one; this folder does not know the language.
using ExpressionCheck = std::optional<std::string> (*)(std::string_view expression);

// Reads a bundle (JSON), accepting every shorthand; all faults at once, each with its JSON pointer, line and column.
// Checks shape, ranges, uniqueness of ids and references between objects, and every match_expr where there is a
// `check`.
std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check = nullptr);

// The same for a document that is a tree already; the faults have no lines.
std::expected<Bundle, Faults> read_bundle(const json::Value& document, ExpressionCheck check = nullptr);

// Writes the canonical form: parse_bundle(write_bundle(b)) == b.
std::string write_bundle(const Bundle& bundle);

}  // namespace sluice
