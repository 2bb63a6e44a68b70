// The client connects its pipeline to a connection, and replaces the connection when it fails.
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
#include "common/redis/pipeline.hpp"
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

}  // namespace

class Client::Impl final : public std::enable_shared_from_this<Client::Impl>,
                           private Connection::Owner,
                           private Sentinels::Owner {
 public:
  Impl(asio::io_context& context, Options options, Observer observer)
      : context_(context),
        options_(std::move(options)),
        observer_(std::move(observer)),
        pipeline_(2 * options_.deadline),
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
  std::size_t in_flight() const { return pipeline_.in_flight(); }
  std::uint64_t writes() const { return writes_; }
  CommandWriter& begin(ReplyHandler& handler, TimePoint deadline) {
    return breaker_.state() == Breaker::State::closed ? begin_any(handler, deadline) : begin_trial(handler, deadline);
  }
  CommandWriter& begin_any(ReplyHandler& handler, TimePoint deadline);
  Breaker::State breaker() const { return breaker_.state(); }
  std::chrono::milliseconds deadline() const { return options_.deadline; }

 private:
  enum class State : std::uint8_t { stopped, connecting, ready, backing_off };

  // The PING that asks whether Redis answers again.
  struct Probe final : ReplyHandler {
    explicit Probe(Impl& owner) : client(owner) {}
    void on_reply(const Reply& reply) override { client.on_probe_ended(!reply.is_error()); }
    void on_failure(Failure) override { client.on_probe_ended(false); }
    Impl& client;
  };
  // Stands in for the handler of the one command that a half-open breaker lets pass.
  struct Trial final : ReplyHandler {
    explicit Trial(Impl& owner) : client(owner) {}
    void on_reply(const Reply& reply) override;
    void on_failure(Failure failure) override;
    Impl& client;
    ReplyHandler* handler = nullptr;  // nullptr: no trial is under way
  };

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
  void on_connection_lost(Error error, FailureKind kind);
  void replace_connection();
  void drop_connection();
  void start_link_timer(Clock::duration duration, void (Impl::*then)());
  void end_link_wait();
  void connect_timed_out();
  void schedule_turn();
  void end_turn();
  void flush(TimePoint now);
  void expire(TimePoint now);
  void arm_deadline_timer(TimePoint now);

  CommandWriter& begin_trial(ReplyHandler& handler, TimePoint deadline);
  template <class Change>
  void change_breaker(Change change);
  void count_outcomes(TimePoint now);
  void arm_probe_timer();
  void probe();
  void on_probe_ended(bool succeeded);
  void on_greeted_while_open();
  void on_trial_ended(bool succeeded);
  double random();  // uniform in [0, 1)

  asio::io_context& context_;
  const Options options_;
  const Observer observer_;
  Pipeline pipeline_;
  Backoff backoff_;
  Breaker breaker_;
  Probe probe_{*this};
  Trial trial_{*this};
  std::minstd_rand random_{std::random_device{}()};
  State state_ = State::stopped;
  std::shared_ptr<Sentinels> sentinels_;  // nullptr: the target is one Redis
  std::string primary_;                   // the last one that was greeted, where there are sentinels
  std::shared_ptr<Connection> connection_;
  unsigned attempts_ = 0;
  std::uint64_t writes_ = 0;
  TimePoint ready_since_{};
  TimePoint replaced_at_{};      // when a lost connection was last replaced without back-off
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
  armed_for_ = TimePoint::max();
  pipeline_.disconnect(FailureKind::disconnected);
  pipeline_.fail_waiting(FailureKind::disconnected);
  pipeline_.report_failures();
}

void Client::Impl::destroy() {
  destroyed_ = true;
  stop();
  while (pipeline_.has_failures()) pipeline_.report_failures();
}

CommandWriter& Client::Impl::begin_any(ReplyHandler& handler, TimePoint deadline) {
  schedule_turn();
  const bool possible = state_ == State::ready || state_ == State::connecting;
  return possible ? pipeline_.begin(handler, deadline) : pipeline_.refuse(handler, FailureKind::unavailable);
}

// ---- one turn of the loop: one write and one reading of the clock for all commands begun in it

void Client::Impl::schedule_turn() {
  if (std::exchange(turn_scheduled_, true)) return;
  asio::post(context_, [self = shared_from_this()] { self->end_turn(); });
}

void Client::Impl::end_turn() {
  turn_scheduled_ = false;
  if (destroyed_) return;
  const TimePoint now = Clock::now();
  // Expire before sending: a command that was not sent can still fail as "has not run".
  if (pipeline_.next_event() <= now) expire(now);
  flush(now);
  arm_deadline_timer(now);
  pipeline_.report_failures();
  if (pipeline_.has_failures()) schedule_turn();
}

void Client::Impl::flush(TimePoint now) {
  if (state_ != State::ready || connection_->writing()) return;
  if (pipeline_.take_output(connection_->out(), now)) connection_->write();
}

void Client::Impl::arm_deadline_timer(TimePoint now) {
  const TimePoint next = std::max(pipeline_.next_event(), now + kTick);
  if (next >= armed_for_) return;  // the timer may fire too early; it is then armed again
  armed_for_ = next;
  deadline_timer_.expires_at(armed_for_);
  deadline_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || self->destroyed_) return;
    self->armed_for_ = TimePoint::max();
    const TimePoint fired = Clock::now();
    self->expire(fired);
    self->arm_deadline_timer(fired);
    self->pipeline_.report_failures();
    if (self->pipeline_.has_failures()) self->schedule_turn();
  });
}

void Client::Impl::expire(TimePoint now) {
  const bool alive = pipeline_.expire(now);
  count_outcomes(now);
  if (alive) return;
  on_connection_lost(
      {"timeout", fmt::format("{}: nothing received for {} ms", to_string(node()), 2 * options_.deadline.count())},
      FailureKind::disconnected);
}

// ---- the connection

void Client::Impl::connect() {
  state_ = State::connecting;
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
  pipeline_.disconnect(FailureKind::disconnected);
  drop_connection();
  connect();
  if (was_ready && observer_.disconnected) observer_.disconnected(why);
  pipeline_.report_failures();
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
  if (breaker_.state() == Breaker::State::open) {
    on_probe_ended(false);
  } else if (error.code != "no_login") {  // without a login no attempt was made
    change_breaker([this] { breaker_.count({.succeeded = 0, .failed = 1}, Clock::now(), random()); });
  }
  back_off();
  if (observer_.connect_failed) observer_.connect_failed(error);
  pipeline_.report_failures();
}

// While the breaker is open, its next probe connects.
void Client::Impl::back_off() {
  state_ = State::backing_off;
  pipeline_.fail_waiting(FailureKind::unavailable);
  if (breaker_.state() == Breaker::State::open) return end_link_wait();
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
void Client::Impl::replace_connection() {
  drop_connection();
  const TimePoint now = Clock::now();
  if (now - ready_since_ >= options_.backoff_max) backoff_.reset();
  if (now - replaced_at_ < kReplaceEvery || breaker_.state() == Breaker::State::open) return back_off();
  replaced_at_ = now;
  connect();
}

void Client::Impl::on_connection_lost(Error error, FailureKind kind) {
  pipeline_.disconnect(kind);
  count_outcomes(Clock::now());
  replace_connection();
  if (observer_.disconnected) observer_.disconnected(error);
  pipeline_.report_failures();
}

void Client::Impl::reconnect() {
  if (state_ != State::ready) return;
  pipeline_.disconnect(FailureKind::disconnected);
  replace_connection();
  schedule_turn();  // reports the failures
  if (observer_.disconnected) {
    observer_.disconnected({"reconnect", fmt::format("{}: connecting anew", to_string(node()))});
  }
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
    probe_timer_.cancel();
    change_breaker([this] { breaker_ = {}; });  // its failures are those of the former primary
  }
  if (breaker_.state() == Breaker::State::open) on_greeted_while_open();
  if (observer_.connected) observer_.connected(info);
  schedule_turn();
}

void Client::Impl::on_bytes(std::string_view bytes) {
  const TimePoint now = Clock::now();
  Result<> fed = pipeline_.feed(bytes, now);
  count_outcomes(now);
  if (fed) return;
  on_connection_lost({"protocol", fmt::format("{}: {}", to_string(node()), fed.error().text)}, FailureKind::protocol);
}

void Client::Impl::on_written() {
  const TimePoint now = Clock::now();
  flush(now);
  arm_deadline_timer(now);
}

void Client::Impl::on_lost(Error error, bool nothing_written) {
  if (state_ == State::connecting) return connect_failed(std::move(error));
  if (nothing_written) pipeline_.put_back_output(connection_->out());
  on_connection_lost(std::move(error), FailureKind::disconnected);
}

// ---- the breaker

// `change` calls a function of the breaker. What waits fails as soon as the breaker opens: nobody waits for a Redis
// that does not answer.
template <class Change>
void Client::Impl::change_breaker(Change change) {
  const Breaker::State before = breaker_.state();
  change();
  if (breaker_.state() == before || state_ == State::stopped) return;
  if (breaker_.state() == Breaker::State::open) {
    pipeline_.fail_waiting(FailureKind::breaker_open);
    arm_probe_timer();
    schedule_turn();  // reports the failures
  }
  if (observer_.breaker_changed) observer_.breaker_changed(breaker_.state());
}

void Client::Impl::count_outcomes(TimePoint now) {
  const Outcomes outcomes = pipeline_.take_outcomes();
  if (outcomes.failed == 0) return breaker_.count(outcomes, now, 0);  // cannot open it
  change_breaker([&] { breaker_.count(outcomes, now, random()); });
}

void Client::Impl::arm_probe_timer() {
  probe_timer_.expires_at(breaker_.next_probe());
  probe_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->destroyed_) self->probe();
  });
}

// Asks by PING or, without a connection, by connecting: the greeting has a PING.
void Client::Impl::probe() {
  if (state_ == State::ready) begin_any(probe_, Clock::now() + options_.deadline).array(1).bulk("PING");
  if (state_ == State::backing_off) connect();
}

// A connection that was begun before the breaker opened may be greeted before the next probe is due.
void Client::Impl::on_greeted_while_open() {
  if (breaker_.next_probe() > ready_since_) return arm_probe_timer();
  change_breaker([this] { breaker_.probe_succeeded(); });
}

void Client::Impl::on_probe_ended(bool succeeded) {
  if (breaker_.state() != Breaker::State::open || state_ == State::stopped) return;
  if (succeeded) return change_breaker([this] { breaker_.probe_succeeded(); });
  breaker_.probe_failed(Clock::now(), random());
  arm_probe_timer();
}

CommandWriter& Client::Impl::begin_trial(ReplyHandler& handler, TimePoint deadline) {
  if (breaker_.state() == Breaker::State::half_open && trial_.handler == nullptr) {
    trial_.handler = &handler;
    return begin_any(trial_, deadline);
  }
  schedule_turn();
  return pipeline_.refuse(handler, FailureKind::breaker_open);
}

void Client::Impl::on_trial_ended(bool succeeded) {
  change_breaker([&] { breaker_.trial_ended(succeeded, Clock::now(), random()); });
}

void Client::Impl::Trial::on_reply(const Reply& reply) {
  ReplyHandler* const inner = std::exchange(handler, nullptr);
  client.on_trial_ended(!is_unable(reply));
  inner->on_reply(reply);
}

void Client::Impl::Trial::on_failure(Failure failure) {
  ReplyHandler* const inner = std::exchange(handler, nullptr);
  client.on_trial_ended(false);
  inner->on_failure(failure);
}

// ----

Client::Client(asio::io_context& context, Options options, Observer observer)
    : impl_(std::make_shared<Impl>(context, std::move(options), std::move(observer))) {}

Client::~Client() { impl_->destroy(); }

void Client::start() { impl_->start(); }
void Client::stop() { impl_->stop(); }
bool Client::ready() const { return impl_->ready(); }
void Client::reconnect() { impl_->reconnect(); }
std::size_t Client::in_flight() const { return impl_->in_flight(); }
std::uint64_t Client::writes() const { return impl_->writes(); }

Breaker::State Client::breaker() const { return impl_->breaker(); }

CommandWriter& Client::begin(ReplyHandler& handler) { return impl_->begin(handler, Clock::now() + impl_->deadline()); }

CommandWriter& Client::begin_setup(ReplyHandler& handler) {
  return impl_->begin_any(handler, Clock::now() + impl_->deadline());
}

CommandWriter& Client::begin(ReplyHandler& handler, TimePoint deadline) { return impl_->begin(handler, deadline); }

}  // namespace sluice::redis
