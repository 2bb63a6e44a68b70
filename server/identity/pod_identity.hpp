// Who Kubernetes says that the holder of a token is.
//
// A value.
#pragma once

#include <optional>
#include <string>

#include "common/domain/plan.hpp"

namespace sluice::server::identity {

struct PodIdentity {
  std::string namespace_;
  std::string service_account;
  std::string pod;  // its name; "": the token is bound to no pod
  std::string pod_uid;
  std::optional<WallTime> expires_at;  // the token's end

  bool operator==(const PodIdentity&) const = default;
};

}  // namespace sluice::server::identity
