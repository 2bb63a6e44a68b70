// TokenReview (authentication.k8s.io/v1): writes the request and reads the answer. No I/O.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "server/identity/pod_identity.hpp"
#include "server/kubernetes/api_client.hpp"

namespace sluice::server::identity {

inline constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";

// The result of reviewing a token.
struct Review {
  enum class Outcome : std::uint8_t {
    accepted,
    refused,  // Kubernetes does not accept the token
    failed,   // Kubernetes did not review the token, so the server does not know whether it is valid
  };
  Outcome outcome = Outcome::failed;
  PodIdentity pod;  // for `accepted`
  std::string why;  // for `refused` and `failed`: the reason, without any part of the token
};

std::string write_token_review(std::string_view token, std::string_view audience);

// Reads the answer of the Kubernetes API server, which is 201 for a refused token too. A token counts as accepted only
// if the API server says that it has checked the token for `audience`.
Review read_token_review(const Result<kubernetes::ApiResponse>& answer, std::string_view audience);

}  // namespace sluice::server::identity
