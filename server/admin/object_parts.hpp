// What the handlers of all kinds are made of: the body and its place, the object a path names, conditions, writing with
// its record, the answer.
//
// Thread safety: none; each works in its caller's transaction. They throw Refusal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "server/admin/call.hpp"
#include "server/admin/drafts.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// The tenant a call is about: of the query, else the only one of the caller's token; "" for kinds without.
std::string tenant_of(const Context& context, Kind kind);
// The one the body names, else as tenant_of; refuses a body and a query that name two.
std::string body_tenant(const Context& context, const json::Value& body, Kind kind);

// As tenant_of, for a path whose ids are unique within a tenant only: refuses 422 where nothing says which.
std::string required_tenant(const Context& context, Kind kind);

// The body as an object; refuses what is no JSON or no object.
json::Value read_body(const Call& call, json::Tree& tree);
// Whether an object has a member that is not null.
bool is_given(const json::Value& body, std::string_view name);
// The body without read-only members, and with its tenant and id, which the path and the query say where the body does
// not. Refuses a body that says others. `tree` holds the body.
json::Value placed(json::Tree& tree, const json::Value& body, Kind kind, const std::string& tenant_id,
                   const std::string& id);

// What an answer that is repeated shows in place of a secret: a body may bring that back, but no secret of its own.
std::vector<std::string_view> unshown(const json::Value& body, std::string_view secret);

// The object a path names; refuses 404 where it is not in the caller's scope.
store::StoredObject require(Context& context, Kind kind, store::Lock lock);

// Refuses 412 where If-Match or If-None-Match do not fit; `found` is nullptr where there is no object.
void check_conditions(const Call& call, const store::StoredObject* found);
// Whether a reader has the object as it is: If-None-Match names it.
bool is_known(const Call& call, const store::StoredObject& found);

// Stores a draft under a key that is free, and records it.
Answer insert_draft(Context& context, const Draft& draft, std::string_view collection,
                    std::string_view action = "create");
// Stores a draft in place of `before` and records it, unless nothing changes.
Answer store(Context& context, const Draft& draft, const store::StoredObject& before, std::string_view action);
// Removes a row that is locked, and records it. Refuses 409 where something refers to it.
Answer remove_object(Context& context, const store::StoredObject& before);

// The members of the object's document, those that the store adds, and `warnings` where there are some.
void write_members(json::Writer& out, const store::StoredObject& object, const Faults& warnings = {});
// An answer of these members, with the ETag.
Answer show(const store::StoredObject& object, const Faults& warnings = {});
std::string etag(const store::StoredObject& object);

}  // namespace sluice::server::admin
