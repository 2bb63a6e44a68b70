// What nginx's limit_req and limit_conn say: zones, which count, and the uses of zones that hold in a block.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/domain/dimension.hpp"
#include "server/imports/draft.hpp"
#include "server/imports/nginx_syntax.hpp"

namespace sluice::server::imports {

// What names a counter. Each request has the values of `always`. Those of `optional` may be empty, and then nginx does
// not count the request.
struct NginxKey {
  std::vector<DimensionRef> always;
  std::vector<DimensionRef> optional;
};

struct NginxZone {
  std::string name;
  bool of_connections = false;
  NginxKey key;
  std::int64_t requests = 0;  // per `per`
  Micros per{0};
  Place at;
  std::size_t policies = 0;  // that count by it
};

// One limit_req or limit_conn.
struct NginxUse {
  NginxZone* zone = nullptr;
  std::int64_t most = 0;  // requests at once, or connections
  bool delays = false;    // requests wait for their turn
};

// What holds in a block, inherited or its own.
struct NginxLimits {
  std::vector<NginxUse> requests;
  std::vector<NginxUse> connections;
  bool requests_dry_run = false;
  bool connections_dry_run = false;

  bool empty() const { return requests.empty() && connections.empty(); }
};

class NginxLimitReader {
 public:
  using Zones = std::map<std::string, NginxZone, std::less<>>;

  explicit NginxLimitReader(Draft& draft) : draft_(draft) {}

  // REQUIRES: the directive is limit_req_zone or limit_conn_zone.
  void read_zone(std::size_t file, const NginxDirective& directive);
  // Reads the limits of a block over the inherited ones. Returns whether it has its own. They point to zones, which
  // live as long as this object. REQUIRES: all zones were read.
  bool read(std::size_t file, const std::vector<NginxDirective>& block, NginxLimits& limits);
  const Zones& zones() const { return zones_; }

 private:
  NginxKey read_key(std::string_view text, Place at);
  void add_variable(std::string_view name, Place at, NginxKey& key);
  void note_status(const NginxDirective& directive, Place at);
  NginxZone* zone_of(const NginxDirective& directive, Place at, std::string_view name);
  void read_limit_req(const NginxDirective& directive, Place at, std::vector<NginxUse>& uses);
  void read_limit_conn(const NginxDirective& directive, Place at, std::vector<NginxUse>& uses);

  Draft& draft_;
  Zones zones_;
};

// The line of the first limit that a block has itself; 0: it has none.
std::uint32_t first_limit_line(const std::vector<NginxDirective>& block);

}  // namespace sluice::server::imports
