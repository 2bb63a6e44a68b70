// Puts snapshots in force: hands each one to all workers, notices when all of them use it, and frees former snapshots.
//
// Thread: the owner's before the io_context runs, then the io_context's. It must not be a worker's io_context, because
// freeing a snapshot takes long.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/policy/snapshot.hpp"
#include "common/telemetry/metrics.hpp"
#include "engine/policies/override_publisher.hpp"

namespace sluice::policies {

class SnapshotSwap {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Hands a publication to all workers. Each worker calls `on_used` once, on any thread. A publication without a
  // snapshot takes the workers' snapshot away.
  using Publish = std::function<void(const Publication& publication, std::function<void()> on_used)>;

  // A log field: {"file", path} or {"server", url}.
  struct Source {
    std::string kind;
    std::string name;
  };
  SnapshotSwap(boost::asio::io_context& context, telemetry::Metrics& metrics, telemetry::Log& log, Publish publish,
               std::size_t workers, Source source);

  // `began`: when loading the snapshot began. Calls `done` when all workers use the snapshot.
  void publish(Publication publication, std::size_t warnings, Time began, std::function<void()> done = {});

  // withdraw() takes a too old snapshot away from the workers; in_force() still returns it. restore() gives it back.
  void withdraw();
  void restore();
  bool withdrawn() const { return withdrawn_; }

  const std::shared_ptr<const policy::Snapshot>& in_force() const { return in_force_.snapshot; }

  // Returns freed memory to the system (malloc_trim), because parsing uses more memory than the snapshot itself. Does
  // nothing during a swap: malloc_trim locks this thread's heap, and workers that free memory of the heap would wait.
  void give_memory_back();

 private:
  struct Swap;  // one hand-out to all workers

  void hand_out(const Publication& publication, std::shared_ptr<Swap> swap);
  void on_used(Swap& swap, Time at);
  void log_in_force(const Swap& swap) const;
  void free_retired();

  boost::asio::io_context& context_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  const Publish publish_;
  const std::size_t workers_;
  const Source source_;
  boost::asio::steady_timer retired_timer_;

  Publication in_force_;
  std::vector<Publication> retired_;  // former publications that are not freed yet
  std::size_t unfinished_ = 0;        // swaps that at least one worker has not taken yet
  bool withdrawn_ = false;
  bool load_was_long_ = false;  // true from a long load until all retired snapshots are freed
};

}  // namespace sluice::policies
