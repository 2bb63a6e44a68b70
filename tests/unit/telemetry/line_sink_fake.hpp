// A sink that a test steers: it fails, loses a line or takes everything.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "common/telemetry/line_sink.hpp"

namespace sluice::telemetry {

// Thread-safe. Outlives the sink.
class SinkState {
 public:
  void fail(bool fails) {
    const std::lock_guard lock(mutex_);
    fails_ = fails;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  // Whether so many attempts have failed within 10 s.
  bool has_failed(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return failures_ >= times; });
  }
  LineSink::Written write(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (fails_) {
      ++failures_;
      changed_.notify_all();
      return {.error = Error{"broken", "it is broken"}};
    }
    text_.append(text);
    return {.bytes = text.size()};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool fails_ = false;
  int failures_ = 0;
  std::string text_;
};

class FakeSink final : public LineSink {
 public:
  explicit FakeSink(SinkState& state) : state_(state) {}
  Written write(std::string_view text) override { return state_.write(text); }

 private:
  SinkState& state_;
};

}  // namespace sluice::telemetry
