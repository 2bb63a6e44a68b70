// Names by which other limiters say a limit, and which Sluice does not take, because they mean something else here or
// need another field beside them. The answer is the field to write.
#pragma once

#include "common/json/fields.hpp"

namespace sluice {

// Whether the object has such a name.
bool has_foreign_limit(const json::Fields& fields);

// Adds a fault for each such name, and marks its member as taken. Returns whether there was one. Call it before
// Fields::reject_unknown().
bool refuse_foreign_limits(json::Fields& fields);

}  // namespace sluice
