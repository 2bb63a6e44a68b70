#include "common/domain/tenant_json.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "common/base/timestamp.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/enum_text.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxHashBytes = 256;
constexpr std::size_t kMinSaltBytes = 16;

void read_name(Fields& fields, std::string& out) {
  if (const auto name = fields.text("name", kMaxNameBytes)) out = *name;
}

}  // namespace

void read_organization(Fields& fields, Organization& out) {
  out.id = read_id(fields, "organization");
  read_name(fields, out.name);
  fields.reject_unknown();
}

void read_tenant(Fields& fields, Tenant& out) {
  out.id = read_id(fields, "tenant");
  read_name(fields, out.name);
  if (const auto id = fields.text("organization_id", kMaxNameBytes)) out.organization_id = *id;
  if (const auto mode = fields.choice("mode", &mode_from, kModeNames)) out.mode = *mode;
  if (const auto answer = fields.text("default", kMaxNameBytes)) {
    out.default_deny = *answer == "deny";
    if (*answer != "deny" && *answer != "allow") {
      fields.fault("default", "default is what a request gets that no policy matches: allow or deny");
    }
  }
  if (const auto plan_calls = fields.boolean("plan_calls")) out.plan_calls = *plan_calls;
  fields.reject_unknown();
}

void read_key(Fields& fields, const TenantIndex& tenants, ApiKey& out) {
  out.tenant_id = tenants.read_tenant_id(fields);
  out.id = read_id(fields, "key");
  read_name(fields, out.name);
  static constexpr std::string_view kShape =
      "sha256:<32 to 64 hex digits of salt>:<64 hex digits>, as mint-key prints it; never the key itself";
  fields.require("key_hash", kShape);
  if (const auto hash = fields.text("key_hash", kMaxHashBytes)) {
    const auto parsed = parse_key_hash(*hash);
    if (!parsed || parsed->salt_size < kMinSaltBytes) {
      fields.fault("key_hash", fmt::format("key_hash must be {}", kShape));
    }
    out.key_hash = *hash;
    std::ranges::transform(out.key_hash, out.key_hash.begin(),
                           [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  out.expires_at = fields.timestamp("expires_at");
  fields.reject_unknown();
}

void write_organization(JsonWriter& out, const Organization& item) {
  out.begin_object();
  out.field("id", item.id);
  out.optional_field("name", item.name);
  out.end_object();
}

void write_tenant(JsonWriter& out, const Tenant& item) {
  out.begin_object();
  out.field("id", item.id);
  out.optional_field("name", item.name);
  out.optional_field("organization_id", item.organization_id);
  if (item.mode != Mode::enforce) out.field("mode", to_string(item.mode));
  if (item.default_deny) out.field("default", "deny");
  if (!item.plan_calls) out.field("plan_calls", false);
  out.end_object();
}

void write_key(JsonWriter& out, const ApiKey& item) {
  out.begin_object();
  out.field("tenant_id", item.tenant_id);
  out.field("id", item.id);
  out.optional_field("name", item.name);
  out.field("key_hash", item.key_hash);
  if (item.expires_at) out.field("expires_at", format_timestamp(*item.expires_at));
  out.end_object();
}

}  // namespace sluice
