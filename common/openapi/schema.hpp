// The schemas of a document: those that a frame refers to a table of fields are made of that table.
//
// In the frame, these members of a schema stand for others (all may have further members beside them):
//   {"fields": "plan"}            properties, as a request body takes them: each may be null, which leaves it out
//     "form": "document"          properties, as the canonical form has them, and which of them it always has
//     "required": ["id"]          of a body: these may not be null
//     "nullable": false           of a body: none may be null
//     "properties": {…}           in the place of the table's, by name; new names come last
//   {"choices": "plan.mode"}      a text with the values of that field; with "form": "body" their aliases too
//   {"page_of": "Plan"}           a page of a list
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "common/json/field.hpp"
#include "common/json/tree.hpp"

namespace sluice::openapi {

// The object components/schemas of a frame, completed, as compact JSON.
// Throws std::logic_error for a table, a field or a schema that does not exist.
std::string complete_schemas(const json::Value& schemas, std::span<const json::FieldTable> tables);

}  // namespace sluice::openapi
