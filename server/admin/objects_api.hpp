// Handlers that create, read, replace, patch, delete and list objects of every kind. A Resource holds what differs
// from kind to kind.
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

// Makes an id from a name: "pro-plan" from "Pro plan!". If the name has no usable character, the id is random.
//
// A call that is sent twice must not make two objects, so an id that is taken is returned too, and refused later. Only
// bindings and group mappings get a random id then, because two service accounts, or groups, may have one slug.
std::string unique_id(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view name);

// What is said about a body before it is read as an object.
struct Remarks {
  Faults faults;
  Faults warnings;  // for Draft::warnings
};

struct Resource {
  Kind kind;
  std::string_view collection;  // "/v1/admin/plans"
  Draft (*draft)(postgres::Transaction& tx, const json::Value& body);
  // Makes an id for a body without one. Returns "" for a shorthand policy: `draft` makes that id from the content.
  std::string (*make_id)(postgres::Transaction& tx, std::string_view tenant_id, const json::Value& body);
  // Replaces members that are never stored; for example, `ttl` becomes `expires_at`. nullptr: replaces nothing.
  json::Value (*translate)(Context& context, json::Tree& tree, const json::Value& body, Remarks& remarks) = nullptr;
  // Adds members that the server makes, such as `key_hash`, to a body that already has its ids. nullptr: adds
  // nothing. `before` is nullptr if the object is new; else members that a body may leave out come from it.
  json::Value (*complete)(Context& context, json::Tree& tree, const json::Value& body,
                          const store::StoredObject* before, std::optional<Secret>& secret, Remarks& remarks) = nullptr;
};

// Resource::draft for a kind that refers only to its tenant.
template <Kind kind>
Draft in_tenant(postgres::Transaction& tx, const json::Value& body) {
  return draft_in_tenant(tx, kind, body);
}
// Resource::make_id for a kind with the member `name`.
template <Kind kind>
std::string id_from_name(postgres::Transaction& tx, std::string_view tenant_id, const json::Value& body) {
  return unique_id(tx, kind, tenant_id, body.text_of("name"));
}

extern const Resource kOrganizations;
extern const Resource kTenants;
extern const Resource kPlans;
extern const Resource kPolicies;

// The draft of the object as if it were created, or put in place of the one with its id. A secret that an answer to a
// new object would show is in `secret`.
Draft checked_draft(Context& context, json::Tree& tree, const Resource& resource, const json::Value& object,
                    const std::string& tenant_id, std::optional<Secret>& secret);

Answer list_objects(Context& context, Kind kind, const std::vector<store::Filter>& filters);
Answer create_object(Context& context, const Resource& resource);
Answer get_object(Context& context, Kind kind);
Answer put_object(Context& context, const Resource& resource);
Answer patch_object(Context& context, const Resource& resource);
Answer delete_object(Context& context, Kind kind);

}  // namespace sluice::server::admin
