#include "tests/simulator/swarm/event_log.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "common/json/text.hpp"

namespace sluice::sync_test {

Event::Event(std::size_t agent, std::string_view what) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  line_ = fmt::format(R"({{"t":{},"agent":{},"what":"{}")",
                      std::chrono::duration_cast<std::chrono::microseconds>(now).count(), agent, what);
}

Event&& Event::add(std::string_view name, std::string_view text) && {
  line_ += fmt::format(",\"{}\":", name);
  json::append_string(line_, text);
  return std::move(*this);
}

Event&& Event::add(std::string_view name, std::int64_t number) && {
  line_ += fmt::format(",\"{}\":{}", name, number);
  return std::move(*this);
}

Event&& Event::add(const std::optional<sync::Position>& position) && {
  line_ += position ? fmt::format(R"(,"revision":{},"chain":"{}")", position->revision, position->chain)
                    : std::string(R"(,"revision":null,"chain":"")");
  return std::move(*this);
}

std::string Event::take() && {
  line_ += "}\n";
  return std::move(line_);
}

EventLog::EventLog(const std::string& path) : file_(std::fopen(path.c_str(), "we")) {
  if (!file_) throw std::system_error(errno, std::generic_category(), path);
}

void EventLog::write(Event&& event) {
  const std::string line = std::move(event).take();
  const std::lock_guard lock(mutex_);
  std::fwrite(line.data(), 1, line.size(), file_.get());
}

void EventLog::flush() {
  const std::lock_guard lock(mutex_);
  std::fflush(file_.get());
}

}  // namespace sluice::sync_test
