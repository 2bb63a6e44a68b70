// How the sinks for syslog name and judge what goes wrong with their sockets.
#pragma once

#include <cerrno>

namespace sluice::line_sinks {

// Codes of errors.
inline constexpr const char* kSyslogNotConnected = "syslog_not_connected";
inline constexpr const char* kSyslogNotSent = "syslog_not_sent";

// Whether `error`, an errno of a non-blocking socket, only means that it takes nothing now.
inline bool is_slow(int error) { return error == EAGAIN || error == EINTR || error == ENOBUFS; }

}  // namespace sluice::line_sinks
