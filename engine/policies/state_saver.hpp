// Saves the newest state on the disk (sync::StateFiles), on a thread of its own. The file's modification time is the
// time when the server last confirmed the state.
//
// After a failed save, the thread tries again with the next state.
// Thread safety: load() before start(); save(), confirmed(), errors() and problem() from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/error.hpp"
#include "common/sync/saved_state.hpp"
#include "common/sync/scope_state.hpp"
#include "common/sync/state_files.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::policies {

class StateSaver {
 public:
  static constexpr std::chrono::milliseconds kEvery{1'000};  // the least time between two saves
  static constexpr std::chrono::seconds kConfirmEvery{5};    // the least time between two changes of the file's time

  StateSaver(std::string path, telemetry::Log& log) : path_(std::move(path)), log_(log), files_(path_) {}
  ~StateSaver() { stop(); }

  struct LoadedState {
    std::string content;  // input of sync::read_state()
    sync::Position head;
    std::chrono::sys_seconds confirmed;
  };
  // Loads the newest file that is undamaged and that `check` accepts. `check` returns an error text or nullopt. Errors:
  // those of StateFiles::load().
  Result<LoadedState> load(const std::function<std::optional<std::string>(const sync::SavedState&)>& check);

  void start();
  void save(sync::ScopeState state);
  void confirmed();  // call this when the server has confirmed the state of the last save()
  void stop();       // writes a state that still waits, then joins the thread

  std::uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }
  std::optional<std::string> problem() const;  // a sentence for /readyz, or nullopt

 private:
  void run();
  void note_result(const Result<>& saved);

  const std::string path_;
  telemetry::Log& log_;
  // After start(), only the thread uses files_ and on_disk_.
  sync::StateFiles files_;
  bool on_disk_ = false;  // the newest file holds the state of the last save()

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::optional<sync::ScopeState> to_save_;
  bool to_confirm_ = false;
  bool stopping_ = false;
  std::optional<std::string> problem_;
  std::atomic<std::uint64_t> errors_{0};
  std::jthread thread_;
};

}  // namespace sluice::policies
