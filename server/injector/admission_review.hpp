// Parses an AdmissionReview (admission.k8s.io/v1), the API server's question about one pod, and decides the response.
//
// Unknown fields are ignored, because newer API servers add fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/json/tree.hpp"
#include "server/injector/inject.hpp"

namespace sluice::server::injector {

// The views and `pod` live as long as the tree that was passed to read_review().
struct AdmissionRequest {
  enum class Operation : std::uint8_t { create, update, delete_, connect };
  std::string_view uid;  // not empty
  Operation operation = Operation::create;
  std::string_view namespace_;   // not empty
  std::string_view subresource;  // "ephemeralcontainers", …; "": the pod itself
  bool dry_run = false;
  const json::Value* pod = nullptr;  // the pod to create; nullptr if the request creates no pod
};

// Errors: `malformed` (not JSON, or a field is missing or of another type), `wrong_version`, `wrong_kind` (not an
// AdmissionReview, or not about a Pod), `no_uid` (the uid is empty or too long).
Result<AdmissionRequest> read_review(std::string_view body, json::Tree& tree);

// Returns the result of inject() if the request creates a pod, else `skipped`. `traceparent`: as for inject().
Injection decide(const AdmissionRequest& request, const InjectorSettings& settings, std::string_view traceparent = {});

}  // namespace sluice::server::injector
