// Parts that the handlers of all kinds share: reading a body, finding the object that a path names, conditional
// requests, writing with an audit record, and the answer.
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

// The tenant that a call is about: the query's, else the only tenant of the caller's token. "" for kinds without
// tenant.
std::string tenant_of(const Context& context, Kind kind);
// The tenant that the body names, else tenant_of(). Refuses a body and a query that name different tenants.
std::string body_tenant(const Context& context, const json::Value& body, Kind kind);

// As tenant_of(), for ids that are unique within a tenant only. Refuses 422 where the call names no tenant.
std::string required_tenant(const Context& context, Kind kind);

// The body as an object. Refuses a body that is not JSON or not an object.
json::Value read_body(const Call& call, json::Tree& tree);
// Whether an object has a member that is not null.
bool is_given(const json::Value& body, std::string_view name);
// The body without read-only members and with its tenant and id. Where the body names none, those of the path and the
// query are added; a body that names different ones is refused. `tree` holds the body.
json::Value placed(json::Tree& tree, const json::Value& body, Kind kind, const std::string& tenant_id,
                   const std::string& id);

// The members to drop from a body: the read-only ones, and `secret` where it is null, as a replayed answer shows it.
std::vector<std::string_view> unshown(const json::Value& body, std::string_view secret);

// The object that the path names. Refuses 404 where it is not in the caller's scope.
store::StoredObject require(Context& context, Kind kind, store::Lock lock);

// Refuses 412 where If-Match or If-None-Match does not hold. `found`: nullptr where there is no object.
void check_conditions(const Call& call, const store::StoredObject* found);
// Whether the caller has the current version already: If-None-Match names its ETag.
bool is_known(const Call& call, const store::StoredObject& found);

// Inserts a draft and records the change. REQUIRES: no object has its id.
Answer insert_draft(Context& context, const Draft& draft, std::string_view collection,
                    std::string_view action = "create");
// Replaces `before` by a draft and records the change. Does neither where the document is the same.
Answer store(Context& context, const Draft& draft, const store::StoredObject& before, std::string_view action);
// Removes a locked row and records the change. Refuses 409 where other objects refer to it.
Answer remove_object(Context& context, const store::StoredObject& before);

// The members of the object's document, those that the store adds, and `warnings` where there are some.
void write_members(json::Writer& out, const store::StoredObject& object, const Faults& warnings = {});
// An answer of these members, with the ETag.
Answer show(const store::StoredObject& object, const Faults& warnings = {});
std::string etag(const store::StoredObject& object);

}  // namespace sluice::server::admin
