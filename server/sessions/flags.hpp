// The flag about how browsers reach the server.
#pragma once

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "server/sessions/request_check.hpp"

namespace sluice::server::sessions {

inline constexpr program::FlagSpec kConsoleUrl{
    "console-url", "Listeners", "URL", "",
    "The address at which browsers open this server, such as https://sluice.example.com, if that is not the one of "
    "--listen: something in front of it terminates TLS or changes the host. With https, session cookies are for TLS "
    "only."};

// `encrypted`: --listen has TLS.
Site read_site(program::ConfigReader& reader, bool encrypted);

}  // namespace sluice::server::sessions
