// A client of the Kubernetes API: each request has a deadline and gets exactly one result.
//
// Several requests run at a time on a few connections that are kept open; more requests wait in a bounded queue. The
// client does not retry, except as http_client does (once, for GET, PUT and DELETE, if the API server had closed the
// kept connection). Callers do their own back-off.
// Thread safety: none; everything happens on the thread of the io_context.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http_client/url.hpp"
#include "common/program/flags.hpp"

namespace sluice::server::kubernetes {

struct ApiOptions {
  http_client::Url server;
  std::string ca_file = {};       // PEM, read at each connect; "": the system's authorities
  std::string token_file = {};    // read at each request, because the kubelet replaces it; "": no token
  std::string namespace_ = {};    // the namespace that sluice-server runs in
  std::size_t connections = 4;    // requests at a time, ≥ 1
  std::size_t max_waiting = 256;  // requests that may wait for a connection; further ones get the error `busy`
};

// Reads the options that the kubelet gives every pod: KUBERNETES_SERVICE_HOST and _PORT, and the service account's
// files in `folder`. Error `not_in_cluster`: its text names what is missing.
inline constexpr std::string_view kServiceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ApiOptions> in_cluster_options(const program::Environment& environment,
                                      std::string_view folder = kServiceAccountFolder);

struct ApiResponse {
  unsigned status = 0;
  std::string body;
};

// Content types of PATCH.
inline constexpr const char* kJsonPatch = "application/json-patch+json";    // RFC 6902
inline constexpr const char* kMergePatch = "application/merge-patch+json";  // RFC 7396
inline constexpr const char* kApplyPatch = "application/apply-patch+yaml";  // server-side apply

// The interface for users of the Kubernetes API. Tests implement it.
class Api {
 public:
  // Gets the result of a request. Called once, from the loop, never inside send(); may send another request or destroy
  // the API. A status of 400 or more is a result and not an error (see error_text()). Errors: those of http_client
  // (resolve, refused, unreachable, tls, timeout, disconnected, framing, encoding, too_large); `busy`: the queue is
  // full; `token`: the token file cannot be read. After timeout and disconnected it is unknown whether the API server
  // executed the request.
  using Done = std::function<void(Result<ApiResponse>)>;

  virtual ~Api() = default;

  // Sends a request. `path`: with the query; the caller encodes its parts with percent_encode(). `deadline`: for the
  // whole request, including its time in the queue; > 0.
  virtual void send(std::string method, std::string path, std::string body, std::chrono::milliseconds deadline,
                    Done done, std::string content_type = "application/json") = 0;
};

class ApiClient final : public Api {
 public:
  ApiClient(boost::asio::io_context& context, ApiOptions options);
  ~ApiClient() override;  // the callbacks of unfinished requests are not called
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  void send(std::string method, std::string path, std::string body, std::chrono::milliseconds deadline, Done done,
            std::string content_type = "application/json") override;

  const ApiOptions& options() const { return options_; }

 private:
  class Impl;

  const ApiOptions options_;
  std::shared_ptr<Impl> impl_;
};

// Describes a response with a status of 400 or more for people: the status, and the `message` of its Status object.
std::string error_text(const ApiResponse& response);

}  // namespace sluice::server::kubernetes
