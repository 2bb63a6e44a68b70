// Admin tokens in memory, as policy sync has read them from PostgreSQL. With them the server refuses most bad tokens
// without PostgreSQL. Calls that pass are authenticated again in their transaction (authenticate.hpp), so a revoked
// token ends at once on every server, however old the memory is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/domain/credential.hpp"
#include "server/auth/token_document.hpp"

namespace sluice::server::auth {

struct KnownToken {
  TokenDocument document;
  KeyHash hash;
};

using KnownTokens = std::map<std::string, std::shared_ptr<const KnownToken>, std::less<>>;  // by id
using KnownTokensPtr = std::shared_ptr<const KnownTokens>;

struct KnownMatch {
  enum class Verdict : std::uint8_t {
    accepted,
    refused,
    outdated,  // the id is not in memory, or its token has expired there: PostgreSQL may know better
  };
  Verdict verdict = Verdict::refused;
  std::string_view id = {};  // within the text that was matched; "" if a header has another form
  CredentialFault fault = CredentialFault::unknown;  // unless accepted: what to tell the caller
};

// Matches `Authorization: Bearer sla_…`. Takes equally long whether or not the id exists. `now_us`: Unix time in µs.
KnownMatch match_known(const KnownTokens& tokens, std::string_view authorization, std::int64_t now_us);

// Matches the id of a token whose secret was checked otherwise.
KnownMatch match_known_id(const KnownTokens& tokens, std::string_view id, std::int64_t now_us);

}  // namespace sluice::server::auth
