// A client of the Kubernetes API: each request has a deadline and gets exactly one result.
//
// Each connection serves one request at a time; further requests wait in a bounded queue. The only retry is
// http_client's: once, for GET, PUT and DELETE, if the API server had closed the kept connection.
// Thread: the io_context's.
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
  std::string namespace_ = {};    // of the pod in which sluice-server runs
  std::size_t connections = 4;    // ≥ 1
  std::size_t max_waiting = 256;  // requests; further ones get the error `busy`
};

// Reads what the kubelet gives every pod: environment variables, and the service account's files in `folder`.
// Error: `not_in_cluster`.
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

// For `accept` of a list: of each object only its metadata comes, whatever kind it is.
inline constexpr const char* kMetadataList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

class Api {
 public:
  // Called once, from the loop, never inside send(). The callback may send another request or destroy the API. A status
  // of 400 or more is a result and not an error. Errors: those of http_client; `busy`: the queue is full; `token`: the
  // token file cannot be read. After `timeout` and `disconnected`, the API server may have executed the request.
  using Done = std::function<void(Result<ApiResponse>)>;

  virtual ~Api() = default;

  // `path`: percent-encoded, with the query. `deadline`: includes the time in the queue; > 0. `accept`: the form of the
  // answer; "": the API server's own, JSON.
  virtual void send(std::string method, std::string path, std::string body, std::chrono::milliseconds deadline,
                    Done done, std::string content_type = "application/json", std::string accept = {}) = 0;
};

class ApiClient final : public Api {
 public:
  ApiClient(boost::asio::io_context& context, ApiOptions options);
  ~ApiClient() override;  // the callbacks of unfinished requests are not called
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  void send(std::string method, std::string path, std::string body, std::chrono::milliseconds deadline, Done done,
            std::string content_type = "application/json", std::string accept = {}) override;

  const ApiOptions& options() const { return options_; }

 private:
  class Impl;

  const ApiOptions options_;
  std::shared_ptr<Impl> impl_;
};

// Describes an error response (a status of 400 or more) for people.
std::string error_text(const ApiResponse& response);

}  // namespace sluice::server::kubernetes
