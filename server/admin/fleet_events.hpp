// What one event stream of the fleet sends next, as text of server-sent events (HTML Living Standard, 9.2).
//
//   event: agents        data: {"whole":true,"more":false,"items":[…],"gone":[…]}
//   event: enforcement   data: {"newest":42,"revision":42,"enforced_by_all":true,"agents":{…}}
//
// First the whole list of agents, then what changes. Nothing is queued for a slow reader: when it reads again, it gets
// what differs between its last event and the newest image. A reader that comes back with the id of its last event goes
// on from there, if this server still knows it.
//
// Pure. Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/admin/fleet_image.hpp"

namespace sluice::server::admin {

struct FleetEventsOptions {
  std::string last_event_id;             // of the reader's last event; "": it begins
  std::optional<std::int64_t> revision;  // whose enforcement to tell; nullopt: of the newest revision
  bool agents = true;                    // false: only the enforcement
};

class FleetEvents {
 public:
  static constexpr std::size_t kPerEvent = 200;  // agents

  explicit FleetEvents(FleetEventsOptions options);

  void update(FleetImagePtr newest) { newest_ = std::move(newest); }

  // The next event, "" if there is nothing new to tell.
  std::string next();

 private:
  std::string next_agents();
  std::string next_enforcement();

  const FleetEventsOptions options_;
  std::string epoch_;       // of `seen_`; "": the reader needs the whole list
  std::uint64_t seen_ = 0;  // the number up to which the reader has seen everything
  FleetImagePtr newest_;
  FleetImagePtr sending_;    // nullptr: the reader has everything of the image that was sent last
  bool whole_ = false;       // sending_ goes out as the whole list
  std::size_t at_ = 0;       // the next agent of sending_
  std::string enforcement_;  // the data that was sent last
};

// An event that says whether the reader's data is old, because the server cannot read PostgreSQL. `detail`: "" when it
// is new again.
std::string stale_event(std::string_view detail);
// The last event. `problem`: a problem document.
std::string end_event(std::string_view problem);
// Keeps the connection alive, and shows a reader that is gone.
inline constexpr std::string_view kHeartbeat = ":\n\n";
// How soon a reader connects again, in ms.
inline constexpr std::string_view kRetry = "retry: 2000\n\n";

}  // namespace sluice::server::admin
