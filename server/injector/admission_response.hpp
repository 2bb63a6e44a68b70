// AdmissionReview (admission.k8s.io/v1): the answer, and what is said where there is none.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "server/injector/inject.hpp"

namespace sluice::server::injector {

// Always allowed: the injector keeps no pod from being made. What it did or why it did nothing is in the audit
// annotations, what its maker should know in the warnings.
std::string write_review(std::string_view uid, const Injection& made);

// A refusal as the API server understands it: a Status object (v1). It shows the message to whoever made the pod where
// the failure policy is Fail, and logs it otherwise; of other bodies it says "unknown".
std::string write_status(unsigned code, std::string_view reason, std::string_view message);

}  // namespace sluice::server::injector
