// The client moves bytes between its endpoint and a connection, and replaces the connection when it fails.
//
//   stopped ──start()──▶ connecting ──greeted──▶ ready ──lost──▶ connecting (at once, at most 20 times a second)
//                         ▲      └──failed──▶ backing off ◀──┘
//                         └───────timer──────────┘
//
// With Sentinel, connecting begins with a search, and goes on with the next candidate when one fails.
#include "common/redis/client.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/wait_traits.hpp>

#include "common/base/backoff.hpp"
#include "common/redis/connection.hpp"
#include "common/redis/endpoint.hpp"
#include "common/redis/sentinels.hpp"

namespace sluice::redis {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, asio::io_context::executor_type>;

namespace {

// The least time between two checks of deadlines. The deadlines of thousands of commands are microseconds apart, and a
// timer for each would cost more than the precision is worth.
constexpr std::chrono::milliseconds kTick{1};

// The least time between two connections that replace a lost one without back-off: at most 20 a second.
constexpr std::chrono::milliseconds kReplaceEvery{50};

// The least time between two connections that are replaced because of a reply.
constexpr std::chrono::milliseconds kBetweenReconnects{200};

}  // namespace

class Client::Impl final : public std::enable_shared_from_this<Client::Impl>,
                           private Connection::Owner,
                           private Sentinels::Owner {
 public:
  Impl(asio::io_context& context, Options options, Observer observer)
      : context_(context),
        options_(std::move(options)),
        observer_(std::move(observer)),
        endpoint_(settings()),
        backoff_(options_.backoff_first, options_.backoff_max),
        link_timer_(context),
        deadline_timer_(context),
        probe_timer_(context) {
    if (!options_.target.sentinels.empty()) {
      sentinels_ = std::make_shared<Sentinels>(context, options_, static_cast<Sentinels::Owner&>(*this));
    }
  }

  void start();
  void stop();
  void destroy();
  void reconnect();
  bool ready() const { return state_ == State::ready; }
  std::size_t unfinished() const { return endpoint_.unfinished(); }
  std::size_t waiting() const { return endpoint_.waiting(); }
  std::size_t window() const { return endpoint_.window(); }
  std::uint64_t writes() const { return writes_; }
  Breaker::State breaker() const { return endpoint_.breaker(); }
  void submit(Command& command, const Terms& terms) {
    schedule_turn();
    endpoint_.submit(command, terms);
  }
  void resubmit(Command& command) {
    schedule_turn();
    endpoint_.resubmit(command);
  }

 private:
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

  void connect();
  void open(const Options& node, Clock::duration limit);
  bool try_next();
  const Target& node() const { return sentinels_ ? sentinels_->node() : options_.target; }
  void back_off();
  void connect_failed(Error error);
  void on_connection_lost(const Error& error, FailureKind kind);
  void replace_connection(FailureKind kind);
  void reconnect_soon();
  void drop_connection();
  void start_link_timer(Clock::duration duration, void (Impl::*then)());
  void end_link_wait();
  void connect_timed_out();
  void schedule_turn();
  void end_turn();
  void settle(TimePoint now);
  void expire(TimePoint now);
  void arm_deadline_timer(TimePoint now);

  void notice_breaker();
  void arm_probe_timer();
  void probe();
  Endpoint::Settings settings();
  double random();  // uniform in [0, 1)

  asio::io_context& context_;
  const Options options_;
  const Observer observer_;
  std::minstd_rand random_{std::random_device{}()};
  Endpoint endpoint_;
  Breaker::State breaker_seen_ = Breaker::State::closed;  // what the observer was told last
  TimePoint probe_armed_for_ = TimePoint::max();
  Backoff backoff_;
  State state_ = State::stopped;
  std::shared_ptr<Sentinels> sentinels_;  // nullptr: the target is one Redis
  std::string primary_;                   // the last one that was greeted, where there are sentinels
  std::shared_ptr<Connection> connection_;
  unsigned attempts_ = 0;
  std::uint64_t writes_ = 0;
  TimePoint ready_since_{};
  TimePoint replaced_at_{};      // when a lost connection was last replaced without back-off
  TimePoint next_reconnect_{};   // when a reply may again cause a new connection
  Timer link_timer_;             // time limit of connecting, or the pause of the back-off
  std::uint64_t link_wait_ = 0;  // number of the current wait of link_timer_; handlers of earlier waits do nothing
  Timer deadline_timer_;
  Timer probe_timer_;
  TimePoint armed_for_ = TimePoint::max();
  bool turn_scheduled_ = false;
  bool destroyed_ = false;
};

void Client::Impl::start() {
  if (state_ != State::stopped || destroyed_) return;
  backoff_.reset();
  connect();
}

void Client::Impl::stop() {
  state_ = State::stopped;
  drop_connection();
  if (sentinels_ != nullptr) sentinels_->stop();
  end_link_wait();
  deadline_timer_.cancel();
  probe_timer_.cancel();
  armed_for_ = probe_armed_for_ = TimePoint::max();
  endpoint_.stop();
  endpoint_.report_failures();
}

void Client::Impl::destroy() {
  destroyed_ = true;
  stop();
  while (endpoint_.has_failures()) endpoint_.report_failures();
}

Endpoint::Settings Client::Impl::settings() {
  return {.deadline = options_.deadline,
          .queue_wait = options_.queue_wait,
          .batch_queue_wait = options_.batch_queue_wait,
          .scripts = options_.scripts,
          .random = [this] { return random(); },
          .healed = observer_.healed};
}

// ---- one turn of the loop: one write and one reading of the clock for all commands of it

void Client::Impl::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  asio::post(context_, [self = shared_from_this()] { self->end_turn(); });
}

void Client::Impl::end_turn() {
  turn_scheduled_ = false;
  if (destroyed_) return;
  const TimePoint now = Clock::now();
  // Expire before sending: a command that was not sent can still fail as "has not run".
  if (endpoint_.next_event() <= now) expire(now);
  settle(now);
}

// Sends what may be sent, and tells what has failed.
void Client::Impl::settle(TimePoint now) {
  const bool free = state_ == State::ready && !connection_->writing();
  if (endpoint_.turn(free ? &connection_->out() : nullptr, now)) connection_->write();
  arm_deadline_timer(now);
  endpoint_.report_failures();
  if (endpoint_.has_failures()) schedule_turn();
  notice_breaker();
}

void Client::Impl::arm_deadline_timer(TimePoint now) {
  const TimePoint next = std::max(endpoint_.next_event(), now + kTick);
  if (next >= armed_for_) return;  // the timer may fire too early; it is then armed again
  armed_for_ = next;
  deadline_timer_.expires_at(armed_for_);
  deadline_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->destroyed_) return;
    self->armed_for_ = TimePoint::max();
    const TimePoint fired = Clock::now();
    self->expire(fired);
    self->settle(fired);
  });
}

void Client::Impl::expire(TimePoint now) {
  if (endpoint_.expire(now)) return;
  on_connection_lost(
      {"timeout", fmt::format("{}: nothing received for {} ms", to_string(node()), 2 * options_.deadline.count())},
      FailureKind::disconnected);
}

// ---- the connection

void Client::Impl::connect() {
  state_ = State::connecting;
  endpoint_.opening();
  if (sentinels_ != nullptr) {
    end_link_wait();
    return sentinels_->search();
  }
  open(options_, options_.connect_timeout);
}

void Client::Impl::open(const Options& node, Clock::duration limit) {
  connection_ = std::make_shared<Connection>(context_, node, static_cast<Connection::Owner&>(*this), attempts_++);
  connection_->open();
  start_link_timer(limit, &Impl::connect_timed_out);
}

// Connects to the next candidate. False: nobody is left.
bool Client::Impl::try_next() {
  const auto candidate = sentinels_ != nullptr ? sentinels_->next_candidate() : std::nullopt;
  if (candidate) open(candidate->options, candidate->limit);
  return candidate.has_value();
}

// Connects to the new primary without back-off and whatever the breaker says: both are about the former one.
void Client::Impl::on_moved(Error why) {
  if (state_ == State::stopped) return;
  const bool was_ready = state_ == State::ready;
  endpoint_.lost(FailureKind::disconnected, Endpoint::Phase::opening, Clock::now());
  drop_connection();
  connect();
  if (was_ready && observer_.disconnected) observer_.disconnected(why);
  schedule_turn();  // tells the failures
}

void Client::Impl::drop_connection() {
  if (connection_ == nullptr) return;
  connection_->close();
  connection_.reset();
}

void Client::Impl::start_link_timer(Clock::duration duration, void (Impl::*then)()) {
  link_timer_.expires_after(duration);
  link_timer_.async_wait(
      [self = shared_from_this(), then, wait = ++link_wait_](const boost::system::error_code& error) {
        if (!error && wait == self->link_wait_) (self.get()->*then)();
      });
}

void Client::Impl::end_link_wait() {
  ++link_wait_;
  link_timer_.cancel();
}

void Client::Impl::connect_timed_out() {
  Error error{"timeout", fmt::format("{}: not connected within {} ms ({})", to_string(node()),
                                     options_.connect_timeout.count(), connection_->stage())};
  connect_failed(std::move(error));
}

void Client::Impl::connect_failed(Error error) {
  drop_connection();
  if (try_next()) return;
  const TimePoint now = Clock::now();
  if (error.code != "no_login") endpoint_.connect_failed(now);  // without a login no attempt was made
  back_off();
  if (observer_.connect_failed) observer_.connect_failed(error);
  schedule_turn();  // tells the failures
}

// While the breaker is open, its next probe connects.
void Client::Impl::back_off() {
  state_ = State::backing_off;
  endpoint_.lost(FailureKind::disconnected, Endpoint::Phase::closed, Clock::now());
  notice_breaker();
  if (breaker() == Breaker::State::open) return end_link_wait();
  start_link_timer(backoff_.next(random()), &Impl::connect);
}

double Client::Impl::random() {
  return static_cast<double>(random_() - std::minstd_rand::min()) /
         (static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min()) + 1);
}

// Replaces a connection that was lost after its handshake at once; commands begun meanwhile wait for the new one. If
// the last one was replaced just before, it backs off instead: a server that accepts and drops connections, or a
// command that causes a reconnect each time, must not make the client loop. While the breaker is open, it backs off
// too.
void Client::Impl::replace_connection(FailureKind kind) {
  drop_connection();
  const TimePoint now = Clock::now();
  endpoint_.lost(kind, Endpoint::Phase::opening, now);
  if (now - ready_since_ >= options_.backoff_max) backoff_.reset();
  if (now - replaced_at_ < kReplaceEvery || breaker() == Breaker::State::open) return back_off();
  replaced_at_ = now;
  connect();
}

void Client::Impl::on_connection_lost(const Error& error, FailureKind kind) {
  replace_connection(kind);
  schedule_turn();  // tells the failures
  if (observer_.disconnected) observer_.disconnected(error);
}

void Client::Impl::reconnect() {
  if (state_ != State::ready) return;
  on_connection_lost({"reconnect", fmt::format("{}: connecting anew", to_string(node()))}, FailureKind::disconnected);
}

void Client::Impl::on_ready(ServerInfo info) {
  if (sentinels_ != nullptr && info.role != "master") {
    return connect_failed({"replica", fmt::format("{}: a sentinel names it as the primary, but its role is '{}'",
                                                  to_string(node()), info.role)});
  }
  info.address = to_string(node());
  state_ = State::ready;
  ready_since_ = Clock::now();
  end_link_wait();
  if (sentinels_ != nullptr && std::exchange(primary_, info.address) != info.address) {
    endpoint_.forget_failures();  // they are those of the former primary
  }
  endpoint_.opened();
  endpoint_.greeted(ready_since_);
  notice_breaker();
  if (observer_.connected) observer_.connected(info);
  schedule_turn();
}

void Client::Impl::on_bytes(std::string_view bytes) {
  const Result<> fed = endpoint_.feed(bytes, Clock::now());
  if (!fed) {
    return on_connection_lost({"protocol", fmt::format("{}: {}", to_string(node()), fed.error().text)},
                              FailureKind::protocol);
  }
  if (endpoint_.take_reconnect_wish()) reconnect_soon();
  if (endpoint_.waiting() > 0 || endpoint_.has_failures()) schedule_turn();
  notice_breaker();
}

// A Redis that refuses every command must not get a connection for every command.
void Client::Impl::reconnect_soon() {
  const TimePoint now = Clock::now();
  if (now < next_reconnect_) return;
  next_reconnect_ = now + kBetweenReconnects;
  reconnect();
}

void Client::Impl::on_written() { settle(Clock::now()); }

void Client::Impl::on_lost(Error error, bool nothing_written) {
  if (state_ == State::connecting) return connect_failed(std::move(error));
  if (nothing_written) endpoint_.not_written();
  on_connection_lost(error, FailureKind::disconnected);
}

// ---- the breaker

// Tells the observer about a change, and arms the timer for the next probe.
void Client::Impl::notice_breaker() {
  if (state_ == State::stopped) return;
  arm_probe_timer();
  if (std::exchange(breaker_seen_, breaker()) == breaker()) return;
  if (observer_.breaker_changed) observer_.breaker_changed(breaker());
}

void Client::Impl::arm_probe_timer() {
  if (endpoint_.next_probe() == probe_armed_for_) return;
  probe_armed_for_ = endpoint_.next_probe();
  if (probe_armed_for_ == TimePoint::max()) {
    probe_timer_.cancel();
    return;
  }
  probe_timer_.expires_at(probe_armed_for_);
  probe_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->destroyed_) self->probe();
  });
}

// Asks by PING or, without a connection, by connecting: the greeting has a PING.
void Client::Impl::probe() {
  if (state_ == State::backing_off) return connect();
  if (state_ != State::ready) return;
  endpoint_.probe();
  schedule_turn();
}

// ----

Client::Client(asio::io_context& context, Options options, Observer observer)
    : impl_(std::make_shared<Impl>(context, std::move(options), std::move(observer))) {}

Client::~Client() { impl_->destroy(); }

void Client::start() { impl_->start(); }
void Client::stop() { impl_->stop(); }
bool Client::ready() const { return impl_->ready(); }
void Client::reconnect() { impl_->reconnect(); }
std::size_t Client::unfinished() const { return impl_->unfinished(); }
std::size_t Client::waiting() const { return impl_->waiting(); }
std::size_t Client::window() const { return impl_->window(); }
std::uint64_t Client::writes() const { return impl_->writes(); }

Breaker::State Client::breaker() const { return impl_->breaker(); }

void Client::submit(Command& command, const Terms& terms) { impl_->submit(command, terms); }
void Client::resubmit(Command& command) { impl_->resubmit(command); }

}  // namespace sluice::redis
