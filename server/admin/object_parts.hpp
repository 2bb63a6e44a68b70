// Functions that the handlers for all kinds of objects share. They throw Refusal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/json/tree.hpp"
#include "server/admin/call.hpp"
#include "server/admin/drafts.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {

// The tenant that the query names, else the only tenant of the caller's token, else "". Returns "" for kinds whose
// objects belong to no tenant.
std::string tenant_of(const Context& context, Kind kind);
// The tenant that the body names, else tenant_of(). Refuses a call whose body and query name different tenants.
std::string body_tenant(const Context& context, const json::Value& body, Kind kind);

// The tenant in the caller's scope if there is only one, else "".
std::string only_tenant(postgres::Transaction& tx);

// As tenant_of(). If ids of the kind are unique only within a tenant, refuses with 422 instead of returning "".
std::string required_tenant(const Context& context, Kind kind);

// Refuses a body that is not a JSON object.
json::Value read_body(const Call& call, json::Tree& tree);
// For calls whose path says everything: refuses a body with members.
void refuse_members(const Call& call);
// Whether the body has this member, and the member is not null.
bool is_given(const json::Value& body, std::string_view name);
// Drops read-only members, and adds `tenant_id` and `id` if they are missing. Refuses a body that names a different
// tenant or id.
json::Value with_ids(json::Tree& tree, const json::Value& body, Kind kind, const std::string& tenant_id,
                     const std::string& id);

// The read-only members, and the member that `secret` names if its value is null. Answers to repeated calls have such a
// null (idempotency.hpp), and a caller may send an answer back.
std::vector<std::string_view> members_to_drop(const json::Value& body, std::string_view secret);

// 404. For plans and policies, `detail` names those of the tenant with similar ids.
[[noreturn]] void refuse_unknown(Context& context, Kind kind, const std::string& tenant_id, const std::string& id);
// The object that the path names. Refuses 404 if the caller's scope has no such object.
store::StoredObject require(Context& context, Kind kind, store::Lock lock);

// Refuses 412 if If-Match or If-None-Match does not hold. `found`: nullptr if the object does not exist.
void check_conditions(const Call& call, const store::StoredObject* found);
// Whether If-None-Match names the ETag of the current version.
bool has_current_version(const Call& call, const store::StoredObject& found);

// `collection`: as in Resource (objects_api.hpp). REQUIRES: no object has the id `draft.key`.
Answer insert_draft(Context& context, const Draft& draft, std::string_view collection,
                    std::string_view action = "create");
// Replaces `before` by the draft, unless their documents are equal.
Answer store(Context& context, const Draft& draft, const store::StoredObject& before, std::string_view action);
// Refuses 409 if other objects refer to this one. REQUIRES: the object is locked.
Answer remove_object(Context& context, const store::StoredObject& before);

// Writes the members of the document, the version, the times, and the warnings if there are any.
void write_members(json::Writer& out, const store::StoredObject& object, const Faults& warnings = {});
Answer show(const store::StoredObject& object, const Faults& warnings = {});
std::string etag(const store::StoredObject& object);

}  // namespace sluice::server::admin
