// Creates Kubernetes Events on objects: the messages that `kubectl describe` shows below a pod.
//
// There is one Event for each object (by its uid) and reason. The Event's name has a hash of uid and reason, so several
// servers that report the same problem create one Event. Creating it again has no effect until the API server deletes
// it (after an hour).
// Thread safety: that of Api (api_client.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/error.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::kubernetes {

struct ObjectReference {
  std::string api_version = "v1";
  std::string kind = "Pod";
  std::string namespace_;
  std::string name;
  std::string uid;
};

struct Event {
  enum class Type : std::uint8_t { normal, warning };
  Type type = Type::normal;
  std::string reason;   // UpperCamelCase, for machines: "SidecarMissing"
  std::string message;  // for people; a text of more than 1,024 bytes is cut
};

// The path and the body of the request that creates an Event on the object `about`.
std::string events_path(const ObjectReference& about);
std::string write_event(const ObjectReference& about, const Event& event, std::chrono::sys_seconds now);

// Creates an Event. `done` gets true if the Event is new, false if it existed. Errors: those of Api; `refused`: the API
// server did not accept the Event.
void create_event(Api& api, const ObjectReference& about, const Event& event, std::chrono::sys_seconds now,
                  std::function<void(Result<bool>)> done);

}  // namespace sluice::server::kubernetes
