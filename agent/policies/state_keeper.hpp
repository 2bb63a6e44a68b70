// Keeps the state in force on the disk (sync::LastKnownGood), on a thread of its own that may wait for the disk: at
// most once in kEvery, always the newest, and once more at the end. That the server has confirmed it is kept too, as
// the file's time, so that an agent that starts without its server knows how old the state is.
//
// What fails is tried again with the next state, counted and logged once; nothing else notices.
// Thread safety: load() before start(); keep(), confirmed(), errors() and problem() from any thread.
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
#include "common/sync/kept_state.hpp"
#include "common/sync/last_known_good.hpp"
#include "common/sync/scope_state.hpp"
#include "common/telemetry/log.hpp"

namespace sluice::agent::policies {

class StateKeeper {
 public:
  static constexpr std::chrono::milliseconds kEvery{1'000};
  static constexpr std::chrono::seconds kConfirmEvery{5};

  StateKeeper(std::string path, telemetry::Log& log) : path_(std::move(path)), log_(log), files_(path_) {}
  ~StateKeeper() { stop(); }

  struct Kept {
    std::string content;  // sync::read_state takes it
    sync::Position head;
    std::chrono::sys_seconds confirmed;
  };
  // The newest that is whole and that `check` has nothing against (a text says what); damage is logged. Errors: as of
  // LastKnownGood::load().
  Result<Kept> load(const std::function<std::optional<std::string>(const sync::KeptState&)>& check);

  void start();
  void keep(sync::ScopeState state);
  void confirmed();  // by the server: what was kept last is its newest
  void stop();       // what was kept last is on the disk then, if it can be; and joins

  std::uint64_t errors() const { return errors_.load(std::memory_order_relaxed); }
  std::optional<std::string> problem() const;  // what is degraded

 private:
  void run();
  void tell(const Result<>& saved);

  const std::string path_;
  telemetry::Log& log_;
  sync::LastKnownGood files_;  // the thread's, once it runs
  bool on_disk_ = false;       // what was kept last is in the newest file; the thread's, once it runs

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<sync::ScopeState> to_keep_;
  bool to_confirm_ = false;
  bool stopping_ = false;
  std::optional<std::string> problem_;
  std::atomic<std::uint64_t> errors_{0};
  std::jthread thread_;
};

}  // namespace sluice::agent::policies
