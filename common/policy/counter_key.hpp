// Counter keys: sl:{<tenant>|<identity>}:p=<policy id>, or …:l=<plan id> for checks that name the plan. A limit that
// adds key_by dimensions has a key of its own, which ends in :k=<limit name>|<the added dimensions>. The text in braces
// is the hash tag of Redis Cluster.
//
// The identity is the key_by dimensions as name=value, in the order of the enum Dimension, separated by '|'. For an
// absent dimension, only the name is written. Bytes outside [A-Za-z0-9._-] are escaped as %XX. An identity above 200
// bytes is replaced by '#' and its SHA-256 in hex. So different identities never share a key.
//
// A source_ip of IPv6 stands for its network of Enforcement::ipv6_prefix bits: all addresses of the network share the
// key source_ip=2001%3Adb8%3A%3A%2F64, however they are written. An IPv4-mapped address has the key of the IPv4
// address.
//
// A resource that a pattern of the policy matched (GET:/users/7) stands for the pattern: all resources that match
// GET:/users/{id} share the key resource=GET%3A%2Fusers%2F%7Bid%7D.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/limiter/counter_hash.hpp"
#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

inline constexpr std::size_t kMaxIdentity = 200;  // bytes

// Escapes the bytes outside [A-Za-z0-9._-].
void append_escaped(std::string_view text, std::string& out);
// The same, and returns the end of what it wrote. REQUIRES: `to` has room for kMaxEscaped bytes for each of the text's.
char* write_escaped(std::string_view text, char* to);
inline constexpr std::size_t kMaxEscaped = 3;
// Replaces the identity, which is all of `out` from `start` on, by its hash if it is too long.
void shorten_identity(std::size_t start, std::string& out);

void append_identity(const Enforcement& enforcement, const CheckRequest& request, std::string& out);

// The parameter `key_head` below is "sl:{<tenant>|".

// Writes into keys[g] the counter key for group g of the rulebook's program (limiter::Group), and returns the hash of
// keys[0]. `keys` never shrinks, so that its memory is reused. `pattern`: stands for the request's resource; "": none.
limiter::CounterHash counter_keys(std::string_view key_head, const Rulebook& rulebook, const CheckRequest& request,
                                  std::vector<std::string>& keys, std::string_view pattern = {});

// Takes a resource of the identity in any spelling. A counter of a pattern is named by the pattern.
std::string counter_key(std::string_view key_head, const Rulebook& rulebook, std::size_t group,
                        std::span<const std::pair<DimensionRef, std::string>> identity,
                        TrailingSlash trailing_slash = TrailingSlash::distinct);

}  // namespace sluice::policy
