#include "common/telemetry/log.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <array>
#include <cmath>
#include <iterator>
#include <mutex>

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
class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LineSink(LineWriter& out)
      : base_sink(std::make_unique<spdlog::pattern_formatter>(R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})",
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

}  // namespace

std::string_view to_string(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == text) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

Log::Log(LineWriter& out, LogLevel level)
    : logger_(std::make_unique<spdlog::logger>("sluice", std::make_shared<LineSink>(out))) {
  logger_->set_level(to_spdlog(level));
}
Log::~Log() = default;

bool Log::wants(LogLevel level) const { return logger_->should_log(to_spdlog(level)); }

void Log::write(LogLevel level, std::string_view event, std::string_view message,
                std::initializer_list<LogField> fields) {
  if (!wants(level)) return;
  std::string line;
  line.append(R"("level":")").append(to_string(level)).append(R"(","event":)");
  json::append_string(line, event);
  line.append(R"(,"message":)");
  json::append_string(line, message);
  for (const LogField& field : fields) {
    line.append(",\"").append(field.name).append("\":");
    std::visit(AppendValue{line}, field.value);
  }
  logger_->log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace sluice::telemetry
