#include "common/telemetry/log.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <mutex>
#include <utility>

#include "common/json/text.hpp"

namespace sluice::telemetry {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warn", "error"};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Passes formatted lines to a LineWriter. The mutex protects the formatter, which has a cache.
class SpdlogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  SpdlogSink(LineWriter& out, LogFormat format)
      : base_sink(std::make_unique<spdlog::pattern_formatter>(
            format == LogFormat::json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})" : "%Y-%m-%d %H:%M:%S.%eZ %v",
            spdlog::pattern_time_type::utc, "")),
        out_(out) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    line_.clear();
    formatter_->format(message, line_);
    out_.append({line_.data(), line_.size()});
  }
  void flush_() override {}

 private:
  LineWriter& out_;
  spdlog::memory_buf_t line_;
};

struct AppendValue {
  std::string& out;

  void operator()(std::string_view text) const { json::append_string(out, text); }
  void operator()(bool flag) const { out.append(flag ? "true" : "false"); }
  void operator()(std::int64_t number) const { json::append_integer(out, number); }
  void operator()(double number) const {
    if (std::isfinite(number))
      fmt::format_to(std::back_inserter(out), "{}", number);
    else
      out.append("null");  // JSON has no infinity
  }
};

void append_json(std::string& line, LogLevel level, std::string_view event, std::string_view message,
                 std::span<const LogField> fields) {
  line.append(R"("level":")").append(to_string(level)).append(R"(","event":)");
  json::append_string(line, event);
  line.append(R"(,"message":)");
  json::append_string(line, message);
  for (const LogField& field : fields) {
    line.append(",\"").append(field.name).append("\":");
    std::visit(AppendValue{line}, field.value);
  }
}

// Appends ASCII as it is. Other text is quoted: it may have characters that end the line or steer a terminal.
void append_readable(std::string& line, std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) {
    line.append(text);
  } else {
    json::append_string(line, text);
  }
}

// A word is written without quotes.
void append_word(std::string& line, std::string_view text) {
  const bool word = !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '=';
  });
  if (word) {
    line.append(text);
  } else {
    json::append_string(line, text);
  }
}

// "WARN  redis_disconnected  The connection to Redis is lost.  worker=0 code=disconnected".
void append_text(std::string& line, LogLevel level, std::string_view event, std::string_view message,
                 std::span<const LogField> fields) {
  constexpr std::array<std::string_view, 4> kPadded{"DEBUG ", "INFO  ", "WARN  ", "ERROR "};
  line.append(kPadded[static_cast<std::size_t>(level)]);
  append_readable(line, event);
  line.append("  ");
  append_readable(line, message);
  std::string_view separator = "  ";
  for (const LogField& field : fields) {
    line.append(separator).append(field.name).push_back('=');
    if (const auto* text = std::get_if<std::string_view>(&field.value)) {
      append_word(line, *text);
    } else {
      std::visit(AppendValue{line}, field.value);
    }
    separator = " ";
  }
}

// As SpdlogSink does: {"time":"2026-01-31T08:15:00.123Z",
void append_now(std::string& line) {
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  fmt::format_to(std::back_inserter(line), R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z",)",
                 fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), (now - seconds).count());
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == text) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

std::optional<LogFormat> parse_log_format(std::string_view text, int fd) {
  if (text == "json") return LogFormat::json;
  if (text == "text") return LogFormat::text;
  if (text == "auto") return ::isatty(fd) == 1 ? LogFormat::text : LogFormat::json;
  return std::nullopt;
}

Log::Log(LineWriter& out, LogLevel level, LogFormat format)
    : format_(format), logger_(std::make_unique<spdlog::logger>("sluice", std::make_shared<SpdlogSink>(out, format))) {
  logger_->set_level(to_spdlog(level));
}
Log::Log(Take take) : take_(std::move(take)) {}
Log::~Log() = default;

bool Log::wants(LogLevel level) const {
  return logger_ ? logger_->should_log(to_spdlog(level)) : static_cast<bool>(take_);
}

void Log::write(LogLevel level, std::string_view event, std::string_view message, std::span<const LogField> fields) {
  if (!wants(level)) return;
  std::string line;
  if (!logger_) {
    append_now(line);
    append_json(line, level, event, message, fields);
    line.push_back('}');
    return take_(level, event, line);
  }
  if (format_ == LogFormat::json) {
    append_json(line, level, event, message, fields);
  } else {
    append_text(line, level, event, message, fields);
  }
  logger_->log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace sluice::telemetry
