// The program's log: one JSON object a line, `time`, `level`, `event`, `message`, then the fields of the event.
//
// Thread safety: write() from any thread. Every text is escaped; a line never breaks in two and never carries a
// terminal's control characters. Callers keep secrets out of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/telemetry/line_writer.hpp"

namespace spdlog {
class logger;
}

namespace sluice::telemetry {

enum class LogLevel : std::uint8_t { debug, info, warn, error };
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);  // "debug", "info", "warn", "error"

// One more member of the line. The name is ours: it is written unescaped.
struct LogField {
  LogField(std::string_view its_name, std::string_view text) : name(its_name), value(text) {}
  LogField(std::string_view its_name, const char* text) : name(its_name), value(std::string_view(text)) {}
  LogField(std::string_view its_name, const std::string& text) : name(its_name), value(std::string_view(text)) {}
  LogField(std::string_view its_name, bool flag) : name(its_name), value(flag) {}
  template <std::integral Integer>
  LogField(std::string_view its_name, Integer number) : name(its_name), value(static_cast<std::int64_t>(number)) {}
  LogField(std::string_view its_name, double number) : name(its_name), value(number) {}

  std::string_view name;
  std::variant<std::string_view, bool, std::int64_t, double> value;
};

class Log {
 public:
  // Lines below `level` are not made. `out` outlives the log.
  Log(LineWriter& out, LogLevel level);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool wants(LogLevel level) const;

  // `event`: what happened, in snake_case, stable: for machines. `message`: one sentence for people.
  void write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields = {});

  void debug(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::debug, event, message, fields);
  }
  void info(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::info, event, message, fields);
  }
  void warn(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::warn, event, message, fields);
  }
  void error(std::string_view event, std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(LogLevel::error, event, message, fields);
  }

 private:
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace sluice::telemetry
