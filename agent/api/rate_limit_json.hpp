// `POST /json`: Envoy's rate limit service over HTTP, as envoyproxy/ratelimit has it.
//
// Thread: one worker's.
#pragma once

#include <string>

#include "agent/api/api_replies.hpp"
#include "agent/rls/service.hpp"
#include "common/base/pool.hpp"
#include "engine/decide/decider.hpp"

namespace sluice::agent::api {

inline constexpr std::string_view kRateLimitPath = "/json";

class RateLimitJson {
 public:
  // `callers_have_certificates`: whether nobody connects over TCP without a client certificate.
  RateLimitJson(rls::Service& service, const decide::Decider& decider, bool callers_have_certificates);
  ~RateLimitJson();

  void handle(const http::Request& request, RouteReply reply);

  // For /v1/snapshot: a JSON object that says what is in force.
  std::string describe() const;

 private:
  class Single;

  // Answers the request itself and returns false if the caller must not ask.
  bool admit(const http::Request& request, RouteReply& reply) const;

  rls::Service& service_;
  const decide::Decider& decider_;
  const bool callers_have_certificates_;
  Pool<Single> singles_;
};

}  // namespace sluice::agent::api
