// Reads and writes the documents of admin tokens and agent tokens. The documents never contain the secret.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/field_rows.hpp"
#include "common/domain/plan.hpp"
#include "common/json/tree.hpp"
#include "server/auth/roles.hpp"
#include "server/auth/scope_fields.hpp"

namespace sluice::server::auth {

struct TokenDocument {
  std::string id;
  std::string name;
  std::optional<Role> role;             // only admin tokens have one
  std::string organization_id;          // "": the platform
  std::vector<std::string> tenant_ids;  // empty: all tenants of the organization
  std::optional<WallTime> expires_at;
  bool revoked = false;

  bool operator==(const TokenDocument&) const = default;
};

// kAll: the fields of both kinds of tokens. kOfAdmin: the field that only admin tokens have.
namespace token_field {
using json::Field;
inline constexpr Field kId{.name = "id", .type = Field::Type::text, .max = kMaxIdBytes, .schema = "Id", .always = true};
inline constexpr Field kName{.name = "name",
                             .type = Field::Type::text,
                             .min = 1,
                             .max = kMaxNameBytes,
                             .always = true,
                             .help = "Tells tokens apart, in lists and in the audit trail: at most 256 bytes."};
inline constexpr Field kRole{
    .name = "role", .type = Field::Type::text, .choices = kRoleNames, .schema = "Role", .always = true};
inline constexpr Field kExpiresAt =
    row::instant("expires_at", "Must be in the future. A token without it never expires.");
inline constexpr Field kRevoked{
    .name = "revoked", .type = Field::Type::boolean, .always = true, .help = "true ends the token for good."};
inline constexpr std::array kAll{kId,        kName,   scope_field::kOrganizationId, scope_field::kTenantIds,
                                 kExpiresAt, kRevoked};
inline constexpr std::array kOfAdmin{kRole};
}  // namespace token_field

enum class TokenType : std::uint8_t { admin, agent };

// Reads a token from the body of a request that `giver` sent. Without organization_id or tenant_ids in the body, the
// token gets the giver's, unless its role is platform_admin. Does not check that organization and tenants exist.
TokenDocument read_token(const json::Value& body, TokenType type, const Principal& giver, Faults& faults);

std::string write_token(const TokenDocument& token);

// Reads a document that write_token() wrote. A document with faults yields a revoked token.
TokenDocument stored_token(std::string_view document, TokenType type);

// An agent token gets the lowest role.
Principal principal_of(const TokenDocument& token);

// A live token is neither revoked nor expired. `now_us`: Unix time in µs.
bool is_live(const TokenDocument& token, std::int64_t now_us);

}  // namespace sluice::server::auth
