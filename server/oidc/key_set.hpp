// The keys with which the provider signs (JSON Web Key Set, RFC 7517). Symmetric keys are never taken: whoever can read
// a published key could sign with it.
//
// Immutable: any thread may verify with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

struct _cjose_jwk_int;  // cjose_jwk_t

namespace sluice::server::oidc {

enum class KeyType : std::uint8_t { rsa, ec };

struct Key {
  std::string id;         // "kid"; "": none
  std::string algorithm;  // "alg"; "": any of its type
  KeyType type = KeyType::rsa;
  std::size_t bits = 0;
  std::shared_ptr<const _cjose_jwk_int> key;
};

using KeySet = std::vector<Key>;

inline constexpr std::size_t kMaxKeys = 100;
inline constexpr std::size_t kMinRsaBits = 2'048;

// Leaves out keys that cannot verify a signature here: for encryption, of other types, too short, or faulty.
// Error: `document` (no key set, or more than kMaxKeys keys).
Result<KeySet> read_key_set(std::string_view document);

}  // namespace sluice::server::oidc
