// The compiled scope of a policy. Matching allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "common/domain/check_request.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/policy.hpp"
#include "common/domain/resource.hpp"

namespace sluice::policy {

// Exact values are narrowest, then patterns, then prefixes. Of patterns, the one with more literal segments is
// narrower; of equally many, the one whose literal segments are further left. Long prefixes, also those of CIDR blocks,
// are narrower than short ones. A term is as narrow as its widest value, so the order of policies does not depend on
// the request.
using Narrowness = std::uint32_t;
inline constexpr Narrowness kExact = UINT32_MAX;
// Precedence packs only the upper half into its sort key.
inline constexpr unsigned kNarrownessShift = 16;
inline constexpr Narrowness kPattern = 0x4000U << kNarrownessShift;  // the least of a pattern

// One dimension of a scope. The request's value must match at least one of the term's values.
struct Term {
  DimensionRef dimension;
  Narrowness narrowness = kExact;
  boost::container::small_vector<std::string, 1> exact;  // sorted
  std::vector<std::string> prefixes;                     // sorted, without the '*'; no prefix begins with another
  std::vector<ResourcePattern> patterns;                 // of `resource`; the narrowest first
  std::vector<IpBlock> blocks;  // addresses and CIDR blocks of source_ip; sorted; no block contains another

  bool matches(const Value& value) const;
  // The narrowest pattern that matches, or nullptr if an exact value matches or no pattern does.
  const ResourcePattern* matching_pattern(std::string_view text) const;
  // False for "*", which only requires that the dimension is present.
  bool discriminates() const { return prefixes.empty() || !prefixes.front().empty(); }
  std::size_t value_count() const { return exact.size() + prefixes.size() + patterns.size() + blocks.size(); }

 private:
  bool is_exactly(std::string_view text) const;  // one of `exact`
};

// A request must match all terms. They are sorted by the level of their dimension (levels.hpp), then by dimension.
using Scope = boost::container::small_vector<Term, 1>;

// Resources are compiled in their canonical spelling, whatever spelling the scope has. With TrailingSlash::same, a
// prefix that ends in a slash also covers the resource without it.
Scope compile_scope(std::span<const ScopeTerm> scope, TrailingSlash trailing_slash = TrailingSlash::distinct);

// An absent dimension matches no term.
bool matches(const Scope& scope, const CheckRequest& request);

}  // namespace sluice::policy
