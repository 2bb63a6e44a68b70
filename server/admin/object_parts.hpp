// Functions that the handlers of all kinds share: reading a body, finding the object that a path names, conditional
// requests, writing with an audit record, and the answer. The functions throw Refusal.
//
// Thread safety: none; each function works in its caller's transaction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "server/admin/call.hpp"
#include "server/admin/drafts.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// The tenant that the query names, else the tenant of the caller's token if the token has exactly one. Returns "" if
// there is no such tenant, or if objects of the kind belong to no tenant.
std::string tenant_of(const Context& context, Kind kind);
// The tenant that the body names, else tenant_of(). Refuses a body and a query that name different tenants.
std::string body_tenant(const Context& context, const json::Value& body, Kind kind);

// As tenant_of(). If ids of the kind are unique only within a tenant, refuses 422 instead of returning "".
std::string required_tenant(const Context& context, Kind kind);

// The body as an object. Refuses a body that is not JSON or not an object.
json::Value read_body(const Call& call, json::Tree& tree);
// Whether an object has a member that is not null.
bool is_given(const json::Value& body, std::string_view name);
// The body without read-only members. Adds `tenant_id` and `id` if they are missing; refuses a body that names a
// different tenant or id. `tree` holds the body.
json::Value with_ids(json::Tree& tree, const json::Value& body, Kind kind, const std::string& tenant_id,
                     const std::string& id);

// The names of members to drop from a body: the read-only members, and the member with the name `secret` if that is
// null. The answer to a repeated call (idempotency.hpp) shows it as null, and the caller may send this answer back.
std::vector<std::string_view> members_to_drop(const json::Value& body, std::string_view secret);

// Finds the object that the path names. Refuses 404 if it does not exist in the caller's scope.
store::StoredObject require(Context& context, Kind kind, store::Lock lock);

// Refuses 412 if If-Match or If-None-Match does not hold. `found`: the stored object; nullptr if it does not exist.
void check_conditions(const Call& call, const store::StoredObject* found);
// Whether the caller has the current version already: If-None-Match names its ETag.
bool has_current_version(const Call& call, const store::StoredObject& found);

// Inserts a draft and records the change. `collection`: as in Resource (objects_api.hpp). REQUIRES: no object has
// the draft's key.
Answer insert_draft(Context& context, const Draft& draft, std::string_view collection,
                    std::string_view action = "create");
// Replaces `before` by a draft and records the change. Does nothing if the document is the same.
Answer store(Context& context, const Draft& draft, const store::StoredObject& before, std::string_view action);
// Removes a locked object and records the change. Refuses 409 if other objects refer to it.
Answer remove_object(Context& context, const store::StoredObject& before);

// Writes the members of the object's document, its version and times, and `warnings` if there are any.
void write_members(json::Writer& out, const store::StoredObject& object, const Faults& warnings = {});
// An answer with the members that write_members() writes, and with the ETag.
Answer show(const store::StoredObject& object, const Faults& warnings = {});
std::string etag(const store::StoredObject& object);

}  // namespace sluice::server::admin
