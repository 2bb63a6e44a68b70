// The flags about webhooks to customers.
#pragma once

#include <optional>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/webhooks/setup.hpp"

namespace sluice::server::webhooks {

using program::FlagSpec;

inline constexpr FlagSpec kSecretFile{"notify-secret-file", "Webhooks to customers", "FILE", "",
                                      "File with a key that the secrets of customers' webhooks are made from: at least "
                                      "32 bytes in one line, the same for "
                                      "all servers, known to nobody else. Further lines: earlier keys, until their "
                                      "secrets are rotated. Without it, there "
                                      "are no webhooks to customers."};
inline constexpr FlagSpec kAllow{
    "notify-allow", "Webhooks to customers", "CIDRS", "",
    "Address blocks, with commas between, that customers' webhooks may lead to although they are not of the public "
    "Internet, such as 10.20.0.0/16. URLs that lead there may begin with http://."};
inline constexpr FlagSpec kTlsCa{
    "notify-tls-ca", "Webhooks to customers", "FILE", "",
    "CA certificates to trust for customers' webhooks (PEM). Default: those of the operating system."};
inline constexpr FlagSpec kGiveUp{
    "notify-give-up-after", "Webhooks to customers", "DURATION", "48h",
    "How long a delivery to a customer's webhook is tried: 1m to 720h. After that it is dead, and is sent again on "
    "demand only."};

// nullopt: there are no webhooks to customers.
std::optional<Setup> read_setup(program::ConfigReader& reader);

}  // namespace sluice::server::webhooks
