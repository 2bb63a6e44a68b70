// Finds the Redis primary by asking the sentinels that watch it, and notices a new primary.
//
//   idle ──search()──▶ asking ──enough answers──▶ Owner::on_candidates() or Owner::on_no_primary()
//     └──a sentinel names another primary──▶ asking ──more sentinels name the new one than the old──▶ Owner::on_moved()
//
// There is one connection to each sentinel, subscribed to the channel +switch-master, which announces a new primary. A
// lost connection is replaced after a back-off. SentinelSearch judges the answers; this class does the I/O.
//
// Thread: that of the io_context. Callbacks come from the loop, never inside a call.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/credential_watch.hpp"
#include "common/redis/sentinel_search.hpp"

namespace sluice::redis {

class Sentinels : public std::enable_shared_from_this<Sentinels> {
 public:
  using Clock = std::chrono::steady_clock;
  using Timer =
      boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, boost::asio::io_context::executor_type>;

  class Owner {
   public:
    virtual void on_candidates() = 0;
    virtual void on_no_primary(Error why) = 0;
    virtual void on_moved(Error why) = 0;  // another Redis is the primary now; the owner calls search() again
    // A sentinel is lost or refuses to answer. Not called again for this sentinel until it has answered.
    virtual void on_sentinel_failed(const Error& why) = 0;

   protected:
    ~Owner() = default;
  };

  // REQUIRES: options.target has sentinels. `options` and `owner` live until stop().
  Sentinels(boost::asio::io_context& context, const Options& options, Owner& owner);
  ~Sentinels();

  // Asks all sentinels. on_candidates() or on_no_primary() follows within half of Options::connect_timeout.
  void search();

  // The next best candidate, and how long to try it: the rest of connect_timeout, divided by the number of candidates
  // left. Returns nullopt when no candidate is left.
  struct Attempt {
    const Options& options;  // valid until the next call of next_candidate()
    Clock::duration limit;
  };
  std::optional<Attempt> next_candidate();

  // Options for a connection to the candidate that was returned last.
  const Options& node() const { return node_; }

  void stop();  // search() may be called again afterwards

 private:
  class Link;
  // Mode::check: asks all sentinels whether the primary in use is still the right one.
  enum class Mode : std::uint8_t { idle, search, check };

  void rotate();
  void begin(Mode mode);
  void answered(std::size_t sentinel, Result<SentinelView> view);
  void named(const HostPort& primary);
  bool in_use(const HostPort& address) const;
  void proceed();
  void finish();
  void arm_timer();
  double random();

  boost::asio::io_context& context_;
  const Options& options_;
  Owner& owner_;
  const std::shared_ptr<CredentialWatch> watch_;
  SentinelSearch search_;
  Options node_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<SentinelSearch::Candidate> candidates_;
  std::size_t tried_ = 0;  // how many candidates next_candidate() has returned
  Mode mode_ = Mode::idle;
  bool check_wanted_ = false;
  Clock::time_point begun_{};  // start of the last search or check
  Clock::time_point attempt_ends_{};
  Timer timer_;
  std::uint64_t wait_ = 0;  // number of the current wait; handlers of earlier waits do nothing
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace sluice::redis
