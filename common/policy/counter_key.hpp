// Names of counters: sl:{<tenant>|<identity>}:p=<policy id>. Two different identities never share one.
//
// identity = the key_by dimensions as name=value in their fixed order, separated by '|'; an absent dimension is its
// name alone, so it differs from an empty one. Every byte outside [A-Za-z0-9._-] of a name or value is %XX. An identity
// above 200 bytes is '#' and its SHA-256 in hex: no other begins with '#'. The braces are Redis Cluster's hash tag.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/domain/check_request.hpp"
#include "common/policy/compiled_policy.hpp"

namespace sluice::policy {

inline constexpr std::size_t kMaxIdentity = 200;

// Appends the identity of a request: what stands between "{<tenant>|" and "}".
void append_identity(std::span<const DimensionRef> key_by, const CheckRequest& request, std::string& out);

// `key_head` below is "sl:{<tenant>|", of the TenantView.

// Fills `keys` (one for each group of the rulebook's program) for this request; reuses its memory.
void counter_keys(std::string_view key_head, const Rulebook& rulebook, const CheckRequest& request,
                  std::vector<std::string>& keys);

// The key of one group for an identity given by value (an override's).
std::string counter_key(std::string_view key_head, const Rulebook& rulebook, std::size_t group,
                        std::span<const std::pair<DimensionRef, std::string>> identity);

}  // namespace sluice::policy
