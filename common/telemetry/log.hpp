// The program's log, one line for each event: a JSON object with `time`, `level`, `event`, `message` and the fields of
// the event, or the same as text for people. All texts except field names are escaped in both. Callers must not pass
// secrets. Thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
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
std::optional<LogLevel> parse_log_level(std::string_view text);

enum class LogFormat : std::uint8_t { json, text };
// Reads "json", "text" or "auto", which is text if `fd` is a terminal.
std::optional<LogFormat> parse_log_format(std::string_view text, int fd);

// The name comes from the program and is written unescaped.
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
  // Events below `level` are ignored. `out` outlives the log.
  Log(LineWriter& out, LogLevel level, LogFormat format = LogFormat::json);
  // Calls `take` for each line of JSON, on the thread that logs, possibly on several at once. Without `take`, all
  // events are ignored.
  using Take = std::function<void(LogLevel level, std::string_view event, std::string_view line)>;
  explicit Log(Take take);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool wants(LogLevel level) const;

  // `event` is a stable name in snake_case, for searches. `message` is a sentence for people.
  void write(LogLevel level, std::string_view event, std::string_view message,
             std::initializer_list<LogField> fields = {}) {
    write(level, event, message, std::span<const LogField>(fields.begin(), fields.size()));
  }
  void write(LogLevel level, std::string_view event, std::string_view message, std::span<const LogField> fields);

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
  const LogFormat format_ = LogFormat::json;
  std::unique_ptr<spdlog::logger> logger_;  // nullptr: lines go to take_
  const Take take_;
};

}  // namespace sluice::telemetry
