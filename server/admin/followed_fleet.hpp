// What a call of the fleet's event stream answers: the state from which the stream goes on. A value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::server::admin {

class FleetImage;

struct FollowedFleet {
  std::shared_ptr<const FleetImage> image;  // never nullptr in an answer
  std::string token_id;                     // whose stream it is
  std::optional<std::int64_t> revision;     // whose enforcement to tell; nullopt: of the newest one
  bool agents = true;                       // false: only the enforcement
};

}  // namespace sluice::server::admin
