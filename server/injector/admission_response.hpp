// Writes the webhook's response to an AdmissionReview (admission.k8s.io/v1), the API server's question about one pod.
// Also writes the error for a request that cannot be read.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "server/injector/inject.hpp"

namespace sluice::server::injector {

// The response always allows the pod. The audit annotations say what the injector did, or why it did nothing; the
// warnings are for the creator of the pod.
std::string write_review(std::string_view uid, const Injection& injection);

// The error for a request that cannot be read, as a Status object (v1). The API server shows its message to the creator
// of the pod if the failure policy is Fail, and logs it otherwise. For an error in another form it would show only
// "unknown".
std::string write_status(unsigned code, std::string_view reason, std::string_view message);

}  // namespace sluice::server::injector
