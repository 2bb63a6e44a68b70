// A text that one thread changes and other threads read.
//
// Thread safety: any thread.
#pragma once

#include <mutex>
#include <string>
#include <utility>

namespace sluice {

class GuardedText {
 public:
  GuardedText& operator=(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
    return *this;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    text_.clear();
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return text_.empty();
  }
  std::string get() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace sluice
