// Puts snapshots in force: hands each to all who decide, hears when the last of them has taken it, and frees former
// ones once nobody uses them any more; here, and not on a thread that decides.
//
// Thread: that of the io_context, which may be slow; before it runs, its owner's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "agent/policies/override_publisher.hpp"
#include "common/policy/snapshot.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent::policies {

class SnapshotSwap {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Hands policies to all who decide; calls `taken`, from any thread, once for each of them. A publication without a
  // snapshot takes the one in force away.
  using Publish = std::function<void(const Publication& publication, std::function<void()> taken)>;

  // `parties`: how many decide. `source`: where policies come from, as the log names it: {"file", path}.
  struct Source {
    std::string kind;
    std::string name;
  };
  SnapshotSwap(boost::asio::io_context& context, telemetry::Metrics& metrics, telemetry::Log& log, Publish publish,
               std::size_t parties, Source source);

  // `began`: when the work on it began. `done`, once all have taken it.
  void publish(Publication publication, std::size_t warnings, Time began, std::function<void()> done = {});

  // Takes the snapshot in force away from those who decide, and gives it back. It stays what in_force() is.
  void withdraw();
  void restore();
  bool withdrawn() const { return withdrawn_; }

  const std::shared_ptr<const policy::Snapshot>& in_force() const { return in_force_.snapshot; }

  // What was read, parsed and freed goes back to the system: it is more than what stays. Later, where somebody has not
  // taken a snapshot yet: while that goes on nobody can free what this thread has allocated, and a worker does when it
  // takes what it was sent.
  void give_memory_back();

 private:
  struct Swap;  // from one snapshot to the next

  void hand_out(const Publication& publication, std::shared_ptr<Swap> swap);
  void taken(Swap& swap, Time at);
  void log_in_force(const Swap& swap) const;
  void free_retired();

  boost::asio::io_context& context_;
  telemetry::Metrics& metrics_;
  telemetry::Log& log_;
  const Publish publish_;
  const std::size_t parties_;
  const Source source_;
  boost::asio::steady_timer retired_timer_;

  Publication in_force_;
  std::vector<Publication> retired_;  // somebody may still use them: freed here and nowhere else
  std::size_t untaken_ = 0;           // swaps that somebody has not taken yet
  bool withdrawn_ = false;
  bool large_ = false;  // of what was published or retired, something was
};

}  // namespace sluice::agent::policies
