// The flag --log-format, which both programs have.
#pragma once

#include <unistd.h>

#include "common/program/config_reader.hpp"
#include "common/program/flags.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::program {

inline constexpr FlagSpec kLogFormat{
    "log-format", "Telemetry", "auto|json|text", "auto",
    "How the lines of the log on stderr are written: json for programs, text for people. auto is text if stderr is a "
    "terminal, and json otherwise."};

inline telemetry::LogFormat read_log_format(ConfigReader& reader) {
  const auto format = telemetry::parse_log_format(reader.value("log-format").text, STDERR_FILENO);
  if (!format) reader.fault("log-format", "must be auto, json or text");
  return format.value_or(telemetry::LogFormat::json);
}

}  // namespace sluice::program
