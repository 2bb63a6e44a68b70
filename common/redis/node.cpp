#include "common/redis/node.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/post.hpp>

namespace sluice::redis {

namespace asio = boost::asio;

namespace {

// The least time between two checks of deadlines: the deadlines of thousands of commands are microseconds apart.
constexpr std::chrono::milliseconds kTick{1};

// The least time between two replacements of a lost connection without back-off.
constexpr std::chrono::milliseconds kReplaceEvery{50};

// Enough for a reply to CLUSTER SLOTS in which each of the 16,384 slots is a range of its own.
constexpr std::size_t kMaxSlotsBytes = std::size_t{32} << 20;

// The least time between two reconnects that error replies cause.
constexpr std::chrono::milliseconds kBetweenReconnects{200};

}  // namespace

Node::Node(asio::io_context& context, Options options, Observer observer, Redirect redirect)
    : context_(context),
      options_(std::move(options)),
      observer_(std::move(observer)),
      endpoint_(settings(std::move(redirect))),
      backoff_(options_.backoff_first, options_.backoff_max),
      rotation_(std::make_shared<Rotation>(context, static_cast<Rotation::Owner&>(*this))),
      link_timer_(context),
      deadline_timer_(context),
      probe_timer_(context) {
  if (!options_.target.sentinels.empty()) {
    sentinels_ = std::make_shared<Sentinels>(context, options_, static_cast<Sentinels::Owner&>(*this));
  }
}

void Node::start() {
  if (state_ != State::stopped || destroyed_) return;
  backoff_.reset();
  connect();
}

void Node::stop() {
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

void Node::destroy() {
  destroyed_ = true;
  stop();
  while (endpoint_.has_failures()) endpoint_.report_failures();
}

Endpoint::Settings Node::settings(Redirect redirect) {
  return {.deadline = options_.deadline,
          .queue_wait = options_.queue_wait,
          .batch_queue_wait = options_.batch_queue_wait,
          .scripts = options_.scripts,
          .random = [this] { return random(); },
          .max_reply_bytes = std::max(options_.max_reply_bytes, options_.target.in_cluster ? kMaxSlotsBytes : 0),
          .probe_every = options_.probe_every,
          .healed = observer_.healed,
          .redirect = std::move(redirect)};
}

// All commands of one turn (iteration) of the event loop share one write.
void Node::schedule_turn() {
  if (turn_scheduled_) return;
  asio::post(context_, [self = shared_from_this()] { self->end_turn(); });
  turn_scheduled_ = true;  // only now: posting may have found no memory
}

void Node::end_turn() {
  turn_scheduled_ = false;
  if (destroyed_) return;
  const TimePoint now = Clock::now();
  // Expire before sending: a command that was not sent can still fail as "has not run".
  if (endpoint_.next_event() <= now) expire(now);
  settle(now);
}

void Node::settle(TimePoint now) {
  if (state_ == State::ready && rotation_->ready() && endpoint_.idle() && !connection_->writing()) use_successor();
  // While a connection with new credentials is ready, the old connection gets no commands, so that it becomes idle.
  const bool free = state_ == State::ready && !connection_->writing() && !rotation_->ready();
  if (endpoint_.turn(free ? &connection_->out() : nullptr, now)) connection_->write();
  arm_deadline_timer(now);
  endpoint_.report_failures();
  if (endpoint_.has_failures()) schedule_turn();
  notice_breaker();
}

void Node::arm_deadline_timer(TimePoint now) {
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

void Node::expire(TimePoint now) {
  if (endpoint_.expire(now)) return;
  on_connection_lost(
      {"timeout", fmt::format("{}: nothing received for {} ms", to_string(target()), 2 * options_.deadline.count())},
      FailureKind::disconnected);
}

void Node::connect() {
  state_ = State::connecting;
  rotate_when_ready_ = false;
  endpoint_.opening();
  if (sentinels_ != nullptr) {
    end_link_wait();
    return sentinels_->search();
  }
  open(options_, options_.connect_timeout);
}

void Node::open(const Options& node, Clock::duration limit) {
  connection_ = std::make_shared<Connection>(context_, node, static_cast<Connection::Owner&>(*this), attempts_++);
  connection_->open();
  start_link_timer(limit, &Node::connect_timed_out);
}

// Connects to the sentinels' next candidate. Returns false if none is left, or without sentinels.
bool Node::try_next() {
  const auto candidate = sentinels_ != nullptr ? sentinels_->next_candidate() : std::nullopt;
  if (candidate) open(candidate->options, candidate->limit);
  return candidate.has_value();
}

// Connects to the new primary at once, because back-off and breaker concern the former primary.
void Node::on_moved(Error why) {
  if (state_ == State::stopped) return;
  const bool was_ready = state_ == State::ready;
  endpoint_.lost(FailureKind::disconnected, Endpoint::Phase::opening, Clock::now());
  drop_connection();
  connect();
  if (was_ready && observer_.disconnected) observer_.disconnected(why);
  schedule_turn();  // reports the failures
}

void Node::drop_connection() {
  rotation_->stop();
  if (connection_ == nullptr) return;
  connection_->close();
  connection_.reset();
}

void Node::start_link_timer(Clock::duration duration, void (Node::*then)()) {
  link_timer_.expires_after(duration);
  link_timer_.async_wait(
      [self = shared_from_this(), then, wait = ++link_wait_](const boost::system::error_code& error) {
        if (!error && wait == self->link_wait_) (self.get()->*then)();
      });
}

void Node::end_link_wait() {
  ++link_wait_;
  link_timer_.cancel();
}

void Node::connect_timed_out() {
  Error error{"timeout", fmt::format("{}: not connected within {} ms ({})", to_string(target()),
                                     options_.connect_timeout.count(), connection_->stage())};
  connect_failed(std::move(error));
}

void Node::connect_failed(Error error) {
  drop_connection();
  if (try_next()) return;
  const TimePoint now = Clock::now();
  if (error.code != "no_login") endpoint_.connect_failed(now);  // without a login no attempt was made
  back_off();
  if (observer_.connect_failed) observer_.connect_failed(error);
  schedule_turn();  // reports the failures
}

// While the breaker is open, its next probe makes the next attempt to connect.
void Node::back_off() {
  state_ = State::backing_off;
  endpoint_.lost(FailureKind::disconnected, Endpoint::Phase::closed, Clock::now());
  notice_breaker();
  if (breaker() == Breaker::State::open) return end_link_wait();
  start_link_timer(backoff_.next(random()), &Node::connect);
}

double Node::random() {
  return static_cast<double>(random_() - std::minstd_rand::min()) /
         (static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min()) + 1);
}

// Replaces at once a connection that was lost after its handshake. Backs off instead while the breaker is open, and if
// a connection was replaced less than kReplaceEvery ago: a Redis that drops connections must not cause an endless loop.
void Node::replace_connection(FailureKind kind) {
  drop_connection();
  const TimePoint now = Clock::now();
  endpoint_.lost(kind, Endpoint::Phase::opening, now);
  if (now - ready_since_ >= options_.backoff_max) backoff_.reset();
  if (now - replaced_at_ < kReplaceEvery || breaker() == Breaker::State::open) return back_off();
  replaced_at_ = now;
  connect();
}

void Node::on_connection_lost(const Error& error, FailureKind kind) {
  replace_connection(kind);
  schedule_turn();  // reports the failures
  if (observer_.disconnected) observer_.disconnected(error);
}

// Does nothing while the node backs off, because each connect reads the credentials from their files again.
void Node::rotate() {
  if (state_ == State::connecting) rotate_when_ready_ = true;
  if (state_ != State::ready) return;
  rotation_->begin(node_options());
  schedule_turn();  // the old connection gets the commands that waited for a successor
}

void Node::on_rotation_failed(const Error& why, bool report) {
  schedule_turn();  // as in rotate()
  if (report && observer_.rotation_failed) observer_.rotation_failed(why);
}

void Node::use_successor() {
  auto [connection, info] = rotation_->take();
  drop_connection();
  connection_ = std::move(connection);
  connection_->serve(*this);
  endpoint_.taken_over(connection_->call_by());
  use(info);
  if (observer_.rotated) observer_.rotated(info);
}

Result<> Node::check(const ServerInfo& info) const {
  if (sentinels_ != nullptr && info.role != "master") {
    return failure("replica", fmt::format("{}: a sentinel names it as the primary, but its role is '{}'",
                                          to_string(target()), info.role));
  }
  const bool of_cluster = options_.target.in_cluster;
  if (info.in_cluster && !of_cluster) {
    return failure("cluster", fmt::format("{}: this is a node of a Redis Cluster: write --counters "
                                          "redis+cluster://HOST,HOST,HOST, or rediss+cluster:// with TLS",
                                          to_string(target())));
  }
  if (!info.in_cluster && of_cluster) {
    return failure("no_cluster", fmt::format("{}: this Redis is not in cluster mode: write --counters redis://, or "
                                             "start it with cluster-enabled yes",
                                             to_string(target())));
  }
  return {};
}

void Node::on_ready(ServerInfo info) {
  if (Result<> checked = check(info); !checked) return connect_failed(std::move(checked.error()));
  info.address = to_string(target());
  state_ = State::ready;
  end_link_wait();
  if (sentinels_ != nullptr && std::exchange(primary_, info.address) != info.address) {
    endpoint_.forget_failures();  // of the former primary
  }
  endpoint_.opened(connection_->call_by());
  use(info);
  // The observer may have stopped the client.
  if (rotate_when_ready_ && state_ == State::ready) rotation_->begin(node_options());
}

// REQUIRES: the handshake of connection_ has just succeeded, with the result `info`.
void Node::use(const ServerInfo& info) {
  ready_since_ = Clock::now();
  endpoint_.greeted(ready_since_);
  notice_breaker();
  if (observer_.connected) observer_.connected(info);
  schedule_turn();
}

void Node::on_bytes(std::string_view bytes) {
  const Result<> fed = endpoint_.feed(bytes, Clock::now());
  if (!fed) {
    return on_connection_lost({"protocol", fmt::format("{}: {}", to_string(target()), fed.error().text)},
                              FailureKind::protocol);
  }
  if (endpoint_.take_reconnect_wish()) reconnect_soon();
  if (endpoint_.waiting() > 0 || endpoint_.has_failures() || rotation_->ready()) schedule_turn();
  notice_breaker();
}

// A Redis that refuses every command must not get a new connection for every command.
void Node::reconnect_soon() {
  const TimePoint now = Clock::now();
  if (state_ != State::ready || now < next_reconnect_) return;
  next_reconnect_ = now + kBetweenReconnects;
  on_connection_lost({"reconnect", fmt::format("{}: connecting anew", to_string(target()))}, FailureKind::disconnected);
}

void Node::on_written() { settle(Clock::now()); }

void Node::on_lost(Error error, bool nothing_written) {
  if (state_ == State::connecting) return connect_failed(std::move(error));
  if (nothing_written) endpoint_.not_written();
  on_connection_lost(error, FailureKind::disconnected);
}

void Node::notice_breaker() {
  if (state_ == State::stopped) return;
  arm_probe_timer();
  if (std::exchange(breaker_seen_, breaker()) == breaker()) return;
  if (observer_.breaker_changed) observer_.breaker_changed(to_string(options_.target), breaker());
}

void Node::arm_probe_timer() {
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

// Connects instead of sending a PING if there is no connection, because the handshake has a PING.
void Node::probe() {
  if (state_ == State::backing_off) return connect();
  if (state_ != State::ready) return;
  endpoint_.probe();
  schedule_turn();
}

}  // namespace sluice::redis
