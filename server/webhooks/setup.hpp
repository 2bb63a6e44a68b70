// What the operator has set up for webhooks: the keys for secrets, and where deliveries may go.
#pragma once

#include <chrono>
#include <string>

#include "server/webhooks/signing.hpp"
#include "server/webhooks/target.hpp"

namespace sluice::server::webhooks {

struct Setup {
  Keys keys;
  AddressRules rules;
  std::string tls_ca;  // file with trusted authorities; "": those of the operating system
  std::chrono::milliseconds give_up{std::chrono::hours(48)};
};

}  // namespace sluice::server::webhooks
