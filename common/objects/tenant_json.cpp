#include "common/objects/tenant_json.hpp"

#include "common/base/timestamp.hpp"

namespace sluice {

void write_organization(json::Writer& out, const Organization& item) {
  out.begin_object();
  out.field("id", item.id);
  out.optional_field("name", item.name);
  out.end_object();
}

void write_tenant(json::Writer& out, const Tenant& item) {
  out.begin_object();
  out.field("id", item.id);
  out.optional_field("name", item.name);
  out.optional_field("organization_id", item.organization_id);
  if (item.mode != Mode::enforce) out.field("mode", to_string(item.mode));
  if (item.default_deny) out.field("default", "deny");
  if (!item.allows_plan_id) out.field("plan_calls", false);
  if (item.trailing_slash) out.field("trailing_slash", to_string(*item.trailing_slash));
  if (item.record_requests) out.field("record_requests", true);
  out.end_object();
}

void write_key(json::Writer& out, const ApiKey& item) {
  out.begin_object();
  out.field("tenant_id", item.tenant_id);
  out.field("id", item.id);
  out.optional_field("name", item.name);
  out.field("key_hash", item.key_hash);
  if (item.expires_at) out.field("expires_at", format_timestamp(*item.expires_at));
  if (item.may_override) out.field("may_override", true);
  out.end_object();
}

}  // namespace sluice
