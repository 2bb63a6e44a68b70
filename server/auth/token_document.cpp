#include "server/auth/token_document.hpp"

#include <fmt/core.h>

#include "common/base/timestamp.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::auth {
namespace {

class TokenReader {
 public:
  TokenReader(const json::Value& body, TokenType type, json::FaultList& faults)
      : fields_(body, root_, faults), type_(type) {}

  TokenDocument read(const Principal& giver) {
    if (const auto id = fields_.text(token_field::kId)) token_.id = *id;
    fields_.require("name", "it tells tokens apart, in lists and in the audit trail");
    if (const auto name = fields_.text(token_field::kName)) token_.name = *name;
    if (token_.name.empty() && fields_.present("name")) fields_.fault("name", "name is empty: say whose token it is");
    if (type_ == TokenType::admin) read_role();
    read_organization(giver);
    read_tenants(giver);
    token_.expires_at = fields_.timestamp(token_field::kExpiresAt);
    token_.revoked = fields_.boolean(token_field::kRevoked).value_or(false);
    check_scope();
    return std::move(token_);
  }
  void reject_unknown() { fields_.reject_unknown(); }

 private:
  void read_role() {
    fields_.require("role", kRoleNames);
    token_.role = fields_.choice(token_field::kRole, &role_from);
  }

  void read_organization(const Principal& giver) {
    if (auto id = read_organization_id(fields_)) {
      token_.organization_id = *std::move(id);
    } else if (!fields_.present("organization_id") && token_.role != Role::platform_admin) {
      token_.organization_id = giver.organization_id;
    }
  }

  void read_tenants(const Principal& giver) {
    token_.tenant_ids = read_tenant_ids(fields_, "a token");
    if (!fields_.present("tenant_ids") && token_.role != Role::platform_admin) token_.tenant_ids = giver.tenant_ids;
  }

  void check_scope() {
    if (token_.role == Role::platform_admin) {
      if (!token_.organization_id.empty()) {
        fields_.fault("organization_id", "a platform_admin is not limited to an organization: leave it out");
      }
      if (!token_.tenant_ids.empty()) {
        fields_.fault("tenant_ids", "a platform_admin is not limited to tenants: leave them out");
      }
    }
    // If the body names tenants, the admin API takes the organization from them (admin/scope_check).
    const bool names_scope = fields_.present("organization_id") || fields_.present("tenant_ids");
    if (token_.role == Role::org_admin && token_.organization_id.empty() && !names_scope) {
      fields_.fault("organization_id", "organization_id is missing: an org_admin belongs to an organization");
    }
  }

  const json::Place root_;
  json::Fields fields_;
  const TokenType type_;
  TokenDocument token_;
};

}  // namespace

TokenDocument read_token(const json::Value& body, TokenType type, const Principal& giver, Faults& faults) {
  json::FaultList found;
  TokenReader reader(body, type, found);
  TokenDocument token = reader.read(giver);
  reader.reject_unknown();
  for (Fault& fault : found.take()) faults.push_back(std::move(fault));
  return token;
}

std::string write_token(const TokenDocument& token) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("id", token.id);
  out.field("name", token.name);
  if (token.role) out.field("role", to_string(*token.role));
  out.optional_field("organization_id", token.organization_id);
  out.key("tenant_ids");
  out.texts(token.tenant_ids);
  if (token.expires_at) out.field("expires_at", format_timestamp(*token.expires_at));
  out.field("revoked", token.revoked);
  out.end_object();
  return out.take();
}

TokenDocument stored_token(std::string_view document, TokenType type) {
  json::Tree tree;
  json::FaultList faults;
  // Unknown fields are ignored, because a later version of the server may have written them.
  TokenDocument token = TokenReader(tree.parse(document).value_or(json::Value()), type, faults).read({});
  if (faults.count() > 0) token.revoked = true;
  return token;
}

Principal principal_of(const TokenDocument& token) {
  return {.token_id = token.id,
          .name = token.name,
          .role = token.role.value_or(Role::auditor),
          .organization_id = token.organization_id,
          .tenant_ids = token.tenant_ids};
}

bool is_live(const TokenDocument& token, std::int64_t now_us) {
  return !token.revoked && (!token.expires_at || token.expires_at->time_since_epoch().count() > now_us);
}

}  // namespace sluice::server::auth
