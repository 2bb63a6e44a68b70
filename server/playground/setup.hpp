// What the flags about the playground set up. Immutable after the start.
#pragma once

#include <string>
#include <vector>

#include "common/http_client/url.hpp"
#include "server/playground/key_file.hpp"

namespace sluice::server::playground {

struct Setup {
  http_client::Url agent;
  std::string tls_ca;         // file with the CAs of the agent's certificate; "": those of the operating system
  std::vector<Key> keys;      // of the tenants that can be played with, without an API key of the caller's
  std::string public_tenant;  // the tenant that anybody may play with; "": the playground needs signing in
};

}  // namespace sluice::server::playground
