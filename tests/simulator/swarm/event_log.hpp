// What happens in a swarm, one JSON object a line in a file: {"t":<µs, monotonic>,"agent":<number>,"what":"…",…}.
// The validator reads it (README.md lists the events).
//
// Thread safety: all of it may be called from any thread; lines are whole, and of one thread in order.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "common/sync/position.hpp"

namespace sluice::sync_test {

// One event in the making: event("swap").add(position).add("checksum", hex).
class Event {
 public:
  Event(std::size_t agent, std::string_view what);

  Event&& add(std::string_view name, std::string_view text) &&;
  Event&& add(std::string_view name, std::int64_t number) &&;
  Event&& add(const std::optional<sync::Position>& position) &&;  // revision and chain; null and "" where absent
  std::string take() &&;

 private:
  std::string line_;
};

class EventLog {
 public:
  explicit EventLog(const std::string& path);  // throws std::system_error where it cannot be written
  void write(Event&& event);
  void flush();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::mutex mutex_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace sluice::sync_test
