// The secret that the passwords of agents' Redis users are made from, and these passwords. No password is stored: all
// servers with the same secret compute the same ones.
//
// Thread safety: any thread. No error text holds a secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"
#include "common/base/error.hpp"
#include "server/sync/fleet_port.hpp"

namespace sluice::server::redis_users {

// The servers change and delete users whose names begin so, and no others.
inline constexpr std::string_view kUserPrefix = "sluice-agent-";

inline constexpr std::size_t kMinSecretBytes = 32;

struct Secret {
  Bytes key;
  std::string generation;  // names the secret, and tells nothing about it

  bool operator==(const Secret&) const = default;
};

// Blocks on a small local file. Error `credentials`; the text completes the sentence "the file …".
Result<Secret> read_secret(const std::string& path);

// "sluice-agent-t-ID" for an agent token, "sluice-agent-b-ID" for a binding.
std::string user_name(std::string_view token_id);

// The password depends on the user's scope too. So a binding that is made anew for somebody else, under the same id,
// has another password.
std::string password_of(const Secret& secret, const sync::AgentCaller& caller);

// As ACL SETUSER takes it: "#" and the SHA-256 in hex.
std::string password_hash(std::string_view password);

}  // namespace sluice::server::redis_users
