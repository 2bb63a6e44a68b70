// The response to an AdmissionReview (admission.k8s.io/v1), and the error for a request that cannot be read.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "server/injector/inject.hpp"

namespace sluice::server::injector {

// The response always allows the pod. The audit annotations say what the injector did, or why it did nothing; the
// warnings are for the creator of the pod.
std::string write_review(std::string_view uid, const Injection& made);

// A refusal as a Status object (v1). With the failure policy Fail, the API server shows the message to the creator of
// the pod; else it logs the message. For a body of another kind it would show "unknown".
std::string write_status(unsigned code, std::string_view reason, std::string_view message);

}  // namespace sluice::server::injector
