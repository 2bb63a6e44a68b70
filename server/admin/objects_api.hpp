// Create, read, replace, patch, delete and list: the same for every kind whose document comes whole out of its body.
#pragma once

#include "common/domain/json_tree.hpp"
#include "server/admin/call.hpp"
#include "server/admin/drafts.hpp"

namespace sluice::server {

// How one kind is served.
struct Resource {
  Kind kind;
  std::string_view collection;  // "/v1/admin/plans"
  Draft (*draft)(Transaction& tx, const std::string& body);
  // An id for a body without one; "" where its reader makes one from the content.
  std::string (*make_id)(Transaction& tx, std::string_view tenant_id, const JsonValue& body);
};

extern const Resource kOrganizations;
extern const Resource kTenants;
extern const Resource kPlans;
extern const Resource kPolicies;
extern const Resource kOverrides;

Answer list_objects(Context& context, const Resource& resource, const std::vector<Filter>& filters);
Answer create_object(Context& context, const Resource& resource);
Answer get_object(Context& context, const Resource& resource);
Answer put_object(Context& context, const Resource& resource);
Answer patch_object(Context& context, const Resource& resource);
Answer delete_object(Context& context, const Resource& resource);

// The parts of these, for kinds and actions with a way of their own.

// One page of a list, and the cursor of the next, "" where there is none.
struct ObjectPage {
  std::vector<StoredObject> objects;
  std::string next;
};
ObjectPage page_of(Context& context, Kind kind, const std::vector<Filter>& filters);
// The tenant a call is about: of the query, else the only one of the caller's token; "" for kinds without.
std::string tenant_of(const Context& context, Kind kind);
// The object a path names; refuses 404 where it is not in the caller's scope.
StoredObject require(Context& context, Kind kind, Lock lock);
// Refuses 412 where If-Match or If-None-Match do not fit; `found` is nullptr where there is no object.
void check_conditions(const Call& call, const StoredObject* found);
// The body as an object; refuses what is no JSON or no object.
JsonValue read_body(const Call& call, JsonTree& tree);
// Stores a draft in place of `before` and records it, unless nothing changes.
Answer store(Context& context, const Draft& draft, const StoredObject& before, std::string_view action);
// The object's document with what the store adds, its ETag, and `warnings` where there are some.
Answer show(const StoredObject& object, const Faults& warnings = {});

}  // namespace sluice::server
