// Makes policies of the limits that hold at a place of nginx's configuration.
//
// limit_req counts the excess over a rate, up to `burst`: with nodelay, or without a burst, that is a token bucket of
// burst + 1; without nodelay the requests wait for their turn, as in a leaky bucket. All limits of a place are judged
// together.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "server/imports/draft.hpp"
#include "server/imports/nginx_limits.hpp"

namespace sluice::server::imports {

// Of a location.
struct NginxPath {
  std::string modifier;  // "", "=", "~", "~*" or "^~"
  std::string text;      // "": no location
  std::int64_t priority = 0;

  bool is_regex() const { return modifier.starts_with('~'); }
};

class NginxPolicies {
 public:
  using IdParts = std::initializer_list<std::string_view>;

  explicit NginxPolicies(Draft& draft) : draft_(draft) {}

  // Adds one policy with all limits. If some count only requests with a certain header, one more for requests without
  // it. `hosts`: values of `service`; empty: all.
  void add(IdParts id, const std::vector<std::string>& hosts, const NginxPath& path, const NginxLimits& limits,
           Place at);

 private:
  void add_policy(IdParts id, std::string_view suffix, const std::vector<std::string>& hosts, const NginxPath& path,
                  const std::vector<NginxUse>& uses, const std::vector<DimensionRef>& needed, const NginxLimits& limits,
                  Place at);
  bool set_scope(Policy& policy, const std::vector<std::string>& hosts, const NginxPath& path, Place at);
  void set_dry_run(Policy& policy, const std::vector<NginxUse>& uses, const NginxLimits& limits, Place at);

  Draft& draft_;
};

}  // namespace sluice::server::imports
