// Writes the webhook's response to an AdmissionReview (admission.k8s.io/v1), the API server's question about one pod.
#pragma once

#include <string>
#include <string_view>

#include "server/injector/inject.hpp"

namespace sluice::server::injector {

// The response always allows the pod. Its audit annotations say what the injector did.
std::string write_review(std::string_view uid, const Injection& injection);

// Writes an error as a Status object (v1), the only form whose message the API server shows or logs.
std::string write_status(unsigned code, std::string_view reason, std::string_view message);

}  // namespace sluice::server::injector
