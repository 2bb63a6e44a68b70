// The compiled scope of a policy: the dimensions and values that a request must have for the policy to match.
//
// Thread safety: immutable. Matching allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "common/domain/check_request.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/policy.hpp"

namespace sluice::policy {

// How narrow a term is, for precedence. Exact values are narrowest, then long prefixes and blocks, then short ones. A
// term with several values is as narrow as its widest value, so the order of policies does not depend on the request.
using Narrowness = std::uint16_t;
inline constexpr Narrowness kExact = UINT16_MAX;

// One dimension of a scope. A request satisfies the term if its value matches any of the term's values.
struct Term {
  DimensionRef dimension;
  Narrowness narrowness = kExact;
  // Sorted. A single value, the usual case, is stored inside the policy, so matching follows no pointer.
  boost::container::small_vector<std::string, 1> exact;
  std::vector<std::string> prefixes;  // sorted, without the '*'; no prefix begins with another
  std::vector<IpBlock> blocks;        // only for source_ip: addresses and CIDR blocks; sorted; none contains another

  bool matches(const Value& value) const;
  // Whether the term restricts the value. False for "*", which only requires that the dimension is present.
  bool discriminates() const { return prefixes.empty() || !prefixes.front().empty(); }
  std::size_t value_count() const { return exact.size() + prefixes.size() + blocks.size(); }
};

// A request must satisfy all terms. They are sorted as precedence compares them: by the level of their dimension
// (levels.hpp), then by the dimension itself.
using Scope = boost::container::small_vector<Term, 1>;

Scope compile_scope(std::span<const ScopeTerm> scope);

// Whether the request satisfies every term. An absent dimension satisfies no term.
bool matches(const Scope& scope, const CheckRequest& request);

}  // namespace sluice::policy
