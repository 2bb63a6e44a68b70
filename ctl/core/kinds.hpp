// The kinds of object that `get`, `edit` and `delete` know.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::ctl {

struct Column {
  std::string_view title;
  std::string_view member;         // of the object; "a.b" is the member b of a
  std::string_view fallback = {};  // what an object without the member has; "": nothing
};

struct Kind {
  std::string_view name;     // "policy", as the API names it
  std::string_view plural;   // "policies": the last part of the API's path, and the list in a bundle
  std::string_view shorter;  // "pol"
  bool in_tenant;            // its ids are unique only within a tenant
  bool has_versions;
  bool can_be_edited;
  std::span<const Column> columns;
};

std::span<const Kind> kinds();

// By any of its names. Error: names what was probably meant, and all kinds.
Result<const Kind*> find_kind(std::string_view name);

struct ObjectName {
  const Kind* kind;
  std::string tenant;  // "": the command's
  std::string id;
};
// What a command line names: a kind and ids ("policy", "orders"), or names as other commands print them
// ("policy/orders", "policy/demo/orders"). None for a kind alone. Errors: `kind`; `name`, if a name is incomplete.
Result<std::vector<ObjectName>> find_objects(const std::string& first, const std::vector<std::string>& others);

// By Kind::name; nullptr if there is none.
const Kind* kind_named(std::string_view name);

}  // namespace sluice::ctl
