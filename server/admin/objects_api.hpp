// Create, read, replace, patch, delete and list. Serves the kinds that need nothing but the body to make a document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "server/admin/call.hpp"
#include "server/admin/drafts.hpp"
#include "server/admin/object_parts.hpp"

namespace sluice::server::admin {

// An id for an object without one, made from its name: "Pro plan!" → "pro-plan". A random one where the name has no
// usable character or the id is taken.
std::string made_id(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view name);

// What the handlers need to know of one kind.
struct Resource {
  Kind kind;
  std::string_view collection;  // "/v1/admin/plans"
  Draft (*draft)(postgres::Transaction& tx, const json::Value& body);
  // Makes an id for a body without one. "": the codec makes it from the content.
  std::string (*make_id)(postgres::Transaction& tx, std::string_view tenant_id, const json::Value& body);
  // Replaces members that only bodies have by stored ones, such as `ttl` by `expires_at`. Adds faults to `faults`.
  // nullptr: the kind has no such members.
  json::Value (*translate)(Context& context, json::Tree& tree, const json::Value& body, Faults& faults) = nullptr;
  // Adds to a placed body the members that the server makes, and sets `secret` if it made one. `before`: the object to
  // be replaced, nullptr for a new one. nullptr: the server makes nothing of this kind.
  json::Value (*complete)(json::Tree& tree, const json::Value& body, const store::StoredObject* before,
                          std::optional<Secret>& secret) = nullptr;
};

extern const Resource kOrganizations;
extern const Resource kTenants;
extern const Resource kPlans;
extern const Resource kPolicies;

Answer list_objects(Context& context, Kind kind, const std::vector<store::Filter>& filters);
Answer create_object(Context& context, const Resource& resource);
Answer get_object(Context& context, Kind kind);
Answer put_object(Context& context, const Resource& resource);
Answer patch_object(Context& context, const Resource& resource);
Answer delete_object(Context& context, Kind kind);

}  // namespace sluice::server::admin
