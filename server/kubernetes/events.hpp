// Creates Kubernetes Events on objects: the messages that `kubectl describe` shows below a pod.
//
// There is one Event for each object and reason, even if several servers report the same problem. The API server
// deletes an Event after an hour.
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
  std::string message;  // for people; cut after 1,024 bytes
};

// The path and the body of the request that creates an Event.
std::string events_path(const ObjectReference& about);
std::string write_event(const ObjectReference& about, const Event& event, std::chrono::sys_seconds now);

// `done` gets false if the Event existed already. Errors: those of Api; `refused`: the API server did not accept the
// Event.
void create_event(Api& api, const ObjectReference& about, const Event& event, std::chrono::sys_seconds now,
                  std::function<void(Result<bool>)> done);

}  // namespace sluice::server::kubernetes
