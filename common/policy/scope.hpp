// A policy's scope, compiled: what a request must say for the policy to be about it.
//
// Immutable; may be read from any thread; matching allocates nothing.
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

// How narrow a term is, as precedence compares it: exact before longer before shorter prefix or block. A list is as
// narrow as its widest value, so that the order of policies does not depend on the request.
using Narrowness = std::uint16_t;
inline constexpr Narrowness kExact = UINT16_MAX;

// One dimension of a scope. A request satisfies it with any of the values.
struct Term {
  DimensionRef dimension;
  Narrowness narrowness = kExact;
  // Sorted. The usual single value stands in the policy itself: matching follows no pointer to it.
  boost::container::small_vector<std::string, 1> exact;
  std::vector<std::string> prefixes;  // sorted, without their '*'; none begins with another
  std::vector<IpBlock> blocks;        // source_ip: addresses and CIDR blocks; sorted, none lies in another

  bool matches(const Value& value) const;
  // Whether the term asks for more than that the dimension is there.
  bool discriminates() const { return prefixes.empty() || !prefixes.front().empty(); }
  std::size_t value_count() const { return exact.size() + prefixes.size() + blocks.size(); }
};

// All terms must hold. In the order in which precedence compares them: that of the levels, then of the dimensions.
using Scope = boost::container::small_vector<Term, 1>;

Scope compile_scope(std::span<const ScopeTerm> scope);

// Whether the request says for every term one of its values. An absent dimension satisfies none.
bool matches(const Scope& scope, const CheckRequest& request);

}  // namespace sluice::policy
