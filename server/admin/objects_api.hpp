// Create, read, replace, patch, delete and list: the same for every kind whose document comes whole out of its body.
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

// An id for a body without one, made of what people call it ("Pro plan!" → "pro-plan"); a random one where nothing is
// left of that, or somebody has it.
std::string made_id(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view name);

// How one kind is served.
struct Resource {
  Kind kind;
  std::string_view collection;  // "/v1/admin/plans"
  Draft (*draft)(postgres::Transaction& tx, const json::Value& body);
  // An id for a body without one; "" where its reader makes one from the content.
  std::string (*make_id)(postgres::Transaction& tx, std::string_view tenant_id, const json::Value& body);
  // Turns what a body may say in place of a stored member into that member; faults go to `faults`. nullptr: nothing.
  json::Value (*translate)(Context& context, json::Tree& tree, const json::Value& body, Faults& faults) = nullptr;
  // The body, which is placed already, with what the server makes itself where the body has none; sets `secret` if it
  // made one. `before`: what is to be replaced. nullptr: it makes nothing.
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
