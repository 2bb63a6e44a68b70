// Names the counters of descriptors. The text in braces is the hash tag of Redis Cluster.
//
//   sl:{<tenant>|rls:<domain>|<entries>}:r=<unit>      each counter has a slot of its own
//   sl:{<tenant>|rls:<domain>}:r=<unit>|<entries>      all counters of the domain are in one slot
//
// The entries are key=value, in the order of the request, separated by '|', escaped and shortened as in
// common/policy/counter_key. Escaped texts have no ':', so no counter of a policy has such a name.
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/rls_config/find_rule.hpp"

namespace sluice::agent::rls {

// The part that all counters of a domain share.
void append_counter_head(std::string_view tenant, std::string_view domain, bool one_slot, std::string& out);

struct CounterOf {
  std::string_view head;  // from append_counter_head(), with the same `one_slot`
  std::span<const rls_config::Entry> entries;
  const rls_config::Match& match;  // says which values are counted together
  rls_config::Unit unit = rls_config::Unit::second;
};

void append_counter_name(const CounterOf& counter, bool one_slot, std::string& out);

}  // namespace sluice::agent::rls
