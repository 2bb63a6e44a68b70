// Writes the request of a TokenReview (authentication.k8s.io/v1), and reads the answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "server/identity/pod_identity.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::identity {

inline constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

struct Review {
  enum class Outcome : std::uint8_t {
    accepted,
    refused,  // Kubernetes does not accept the token
    failed,   // Kubernetes did not review the token
  };
  Outcome outcome = Outcome::failed;
  PodIdentity pod;  // for `accepted`
  std::string why;  // for `refused` and `failed`; never contains a part of the token
};

std::string write_token_review(std::string_view token, std::string_view audience);

// A token counts as accepted only if the API server says that it has checked the token for `audience`.
Review read_token_review(const Result<kubernetes::ApiResponse>& answer, std::string_view audience);

}  // namespace sluice::server::identity
