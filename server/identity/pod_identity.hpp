// The pod and service account that Kubernetes reports for a token.
#pragma once

#include <optional>
#include <string>

#include "common/domain/plan.hpp"

namespace sluice::server::identity {

struct PodIdentity {
  std::string namespace_;
  std::string service_account;
  std::string pod;  // name, or "" if the token is not bound to a pod
  std::string pod_uid;
  std::optional<WallTime> expires_at;  // of the token

  bool operator==(const PodIdentity&) const = default;
};

}  // namespace sluice::server::identity
