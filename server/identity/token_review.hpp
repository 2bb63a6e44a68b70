// TokenReview (authentication.k8s.io/v1): the question and what its answer says. No I/O.
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

// What is known of a token.
struct Review {
  enum class Outcome : std::uint8_t {
    good,
    bad,   // Kubernetes does not accept it
    away,  // nobody could say
  };
  Outcome outcome = Outcome::away;
  PodIdentity pod;  // of good
  std::string why;  // of the others, for people; holds nothing of the token
};

std::string write_token_review(std::string_view token, std::string_view audience);

// The answer's meaning. The API server answers 201 also where it says no; `audience` must be among those it has
// checked.
Review judge_token_review(const Result<kubernetes::ApiResponse>& answer, std::string_view audience);

}  // namespace sluice::server::identity
