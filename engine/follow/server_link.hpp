// What all requests to the server have in common: its address, the agent's id and token, and the texts of errors.
//
// Thread: its owner's.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"

namespace sluice::follow {

class ServerLink {
 public:
  using Token = std::function<Result<std::string>()>;

  // `seed`: 0 means a random seed.
  ServerLink(http_client::Options server, std::string agent_id, Token token, std::uint64_t seed);

  const http_client::Options& server() const { return server_; }

  // Uniform in [0, 1).
  double random() { return std::uniform_real_distribution<double>(0, 1)(engine_); }

  // Error: the token cannot be read.
  Result<http_client::Request> request(std::string target);

  // Id of the agent token in the last request; "" if that request had the token of a Kubernetes service account.
  const std::string& token_id() const { return token_id_; }

 private:
  http_client::Options server_;
  std::string agent_id_;
  Token token_;
  std::string token_id_;
  std::mt19937_64 engine_;
};

// `what`: what the agent asked for or sent. Codes: `unauthorized` for 401 and 403, else `status`.
Error refused_by_server(std::string_view what, const http_client::Response& response);

}  // namespace sluice::follow
