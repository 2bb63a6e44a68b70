// Plans and policies of a bundle that share a name in one tenant. Names decide nothing, so such a bundle can be loaded.
// But people tell objects apart by them, so the server refuses to write a name twice.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/domain/bundle.hpp"
#include "common/objects/object_id.hpp"

namespace sluice::policy {

// One fault at the `name` of each plan and policy whose name another one of the same kind and tenant has. Names are
// compared byte by byte. Objects without a name share nothing.
Faults shared_names(const Bundle& bundle);

// Says that the other object has the name of `object` already.
std::string shared_name_text(const ObjectIdView& object, std::string_view name, std::string_view other_id);

}  // namespace sluice::policy
