// The driver of one Endpoint: moves bytes between the endpoint and its connection, and replaces a lost connection.
//
//   stopped ──start()──▶ connecting ──greeted──▶ ready ──lost──▶ connecting (at once, at most 20 times a second)
//                         ▲      └──failed──▶ backing off ◀──┘
//                         └───────timer──────────┘
//
// Greeted: the Redis handshake has succeeded. With Sentinel, connecting begins with a search for the primary.
//
// Belongs to the io_context's thread. Pending timers keep the object alive after destroy().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/wait_traits.hpp>

#include "common/base/backoff.hpp"
#include "common/redis/client.hpp"
#include "common/redis/connection.hpp"
#include "common/redis/endpoint.hpp"
#include "common/redis/rotation.hpp"
#include "common/redis/sentinels.hpp"

namespace sluice::redis {

class Node final : public std::enable_shared_from_this<Node>,
                   private Connection::Owner,
                   private Sentinels::Owner,
                   private Rotation::Owner {
 public:
  using Redirect = std::function<bool(Command&, const Reply&)>;  // see Endpoint::Settings::redirect

  Node(boost::asio::io_context& context, Options options, Observer observer, Redirect redirect = {});

  // Like the Client's functions of the same names.
  void start();
  void stop();
  void rotate();
  void submit(Command& command, const Terms& terms) {
    schedule_turn();
    endpoint_.submit(command, terms);
  }
  void resubmit(Command& command, bool asking = false) {
    schedule_turn();
    endpoint_.resubmit(command, asking);
  }
  bool postpone(Command& command) {
    schedule_turn();
    return endpoint_.postpone(command, Clock::now());
  }

  // Stops for good. All commands fail, also those that callbacks submit during this call. No callback comes later.
  void destroy();

  const Target& target() const { return node_options().target; }
  bool ready() const { return state_ == State::ready; }
  Breaker::State breaker() const { return endpoint_.breaker(); }
  std::size_t unfinished() const { return endpoint_.unfinished(); }
  std::size_t waiting() const { return endpoint_.waiting(); }
  std::size_t window() const { return endpoint_.window(); }
  bool busy(std::chrono::steady_clock::time_point now) const { return endpoint_.busy(now); }
  std::uint64_t writes() const { return writes_; }

 private:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;
  using Timer =
      boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, boost::asio::io_context::executor_type>;
  enum class State : std::uint8_t { stopped, connecting, ready, backing_off };

  void on_ready(ServerInfo info) override;
  void on_bytes(std::string_view bytes) override;
  void on_sent() override { ++writes_; }
  void on_written() override;
  void on_lost(Error error, bool nothing_written) override;

  void on_candidates() override { try_next(); }
  void on_no_primary(Error why) override { connect_failed(std::move(why)); }
  void on_moved(Error why) override;
  void on_sentinel_failed(const Error& why) override {
    if (observer_.sentinel_failed) observer_.sentinel_failed(why);
  }

  Result<> check(const ServerInfo& info) const override;
  void on_successor() override { schedule_turn(); }
  void on_rotation_failed(const Error& why, bool report) override;
  double random() override;

  void connect();
  void open(const Options& node, Clock::duration limit);
  bool try_next();
  const Options& node_options() const { return sentinels_ ? sentinels_->node() : options_; }
  void use(const ServerInfo& info);
  void back_off();
  void connect_failed(Error error);
  void on_connection_lost(const Error& error, FailureKind kind);
  void replace_connection(FailureKind kind);
  void reconnect_soon();
  void drop_connection();
  void start_link_timer(Clock::duration duration, void (Node::*then)());
  void end_link_wait();
  void connect_timed_out();
  void use_successor();
  void schedule_turn();
  void end_turn();
  void settle(TimePoint now);
  void expire(TimePoint now);
  void arm_deadline_timer(TimePoint now);

  void notice_breaker();
  void arm_probe_timer();
  void probe();
  Endpoint::Settings settings(Redirect redirect);

  boost::asio::io_context& context_;
  const Options options_;
  const Observer observer_;
  std::minstd_rand random_{std::random_device{}()};
  Endpoint endpoint_;
  Breaker::State breaker_seen_ = Breaker::State::closed;  // the last state that the observer got
  TimePoint probe_armed_for_ = TimePoint::max();
  Backoff backoff_;
  State state_ = State::stopped;
  std::shared_ptr<Sentinels> sentinels_;  // nullptr without Sentinel
  std::string primary_;                   // the URL of the last primary, with Sentinel
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<Rotation> rotation_;
  bool rotate_when_ready_ = false;  // the credentials have changed since this attempt to connect began
  unsigned attempts_ = 0;
  std::uint64_t writes_ = 0;
  TimePoint ready_since_{};
  TimePoint replaced_at_{};      // when a lost connection was last replaced without back-off
  TimePoint next_reconnect_{};   // before this time no error reply causes a new connection
  Timer link_timer_;             // time limit of connecting, or the pause of the back-off
  std::uint64_t link_wait_ = 0;  // counts waits of link_timer_; handlers of earlier waits do nothing
  Timer deadline_timer_;
  Timer probe_timer_;
  TimePoint armed_for_ = TimePoint::max();
  bool turn_scheduled_ = false;
  bool destroyed_ = false;
};

}  // namespace sluice::redis
