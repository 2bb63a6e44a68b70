// What the middlewares rateLimit and inFlightReq of Traefik limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "server/imports/limit_set.hpp"
#include "server/imports/yaml_source.hpp"

namespace sluice::server::imports {

struct TraefikLimits {
  std::vector<KeyedLimit> limits;           // empty: the middleware limits nothing
  std::optional<std::uint8_t> ipv6_prefix;  // where addresses name a counter
};

// Takes rateLimit and inFlightReq. `name`: the middleware's.
TraefikLimits read_traefik_limits(Section& middleware, std::string_view name);

}  // namespace sluice::server::imports
