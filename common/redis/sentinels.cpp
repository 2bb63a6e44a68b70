#include "common/redis/sentinels.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/base/backoff.hpp"
#include "common/redis/connection.hpp"
#include "common/redis/reply_reader.hpp"
#include "common/redis/rotation.hpp"

namespace sluice::redis {

namespace asio = boost::asio;

namespace {

constexpr std::string_view kChannel = "+switch-master";
// The shortest time between two connections to one sentinel, and from a search or check (Mode) to the next check. Also
// the first bound of the back-off.
constexpr std::chrono::milliseconds kBetweenAttempts{100};
// A sentinel is asked again this long after its last answer, because a dead connection may go unnoticed.
constexpr std::chrono::seconds kPoll{10};

Options sentinel_options(const Options& options, const HostPort& address) {
  Options out = options;
  out.target = {};
  out.target.transport = options.target.transport;
  out.target.host = address.host;
  out.target.port = address.port;
  out.scripts = {};
  out.password_file = options.sentinel_password_file;
  out.login_file = options.sentinel_login_file;
  return out;
}

// Login errors get the code `sentinel_login`, so that nobody blames the login of the Redis server.
Error as_sentinel_error(Error error) {
  static constexpr std::array kLogin{"authentication", "permission", "credentials", "no_login"};
  error.text = "sentinel " + error.text;
  if (std::ranges::find(kLogin, error.code) == kLogin.end()) return error;
  return {"sentinel_login", error.text + "; the sentinels do not use the login of the data nodes"};
}

}  // namespace

// The connection to one sentinel.
class Sentinels::Link final : private Connection::Owner, private Rotation::Owner {
 public:
  Link(Sentinels& set, std::size_t index)
      : set_(set),
        index_(index),
        options_(sentinel_options(set.options_, set.options_.target.sentinels[index])),
        backoff_(kBetweenAttempts, set.options_.backoff_max),
        rotation_(std::make_shared<Rotation>(set.context_, static_cast<Rotation::Owner&>(*this))),
        timer_(set.context_) {}
  ~Link() { close(); }

  // Sentinels::answered() follows, unless close() comes first.
  void ask() {
    if (connection_ == nullptr) {
      wait(std::max(Clock::duration::zero(), opened_ + kBetweenAttempts - Clock::now()), &Link::open);
    } else if (ready_) {
      send();
    }
  }

  // Logs in again after the credentials have changed. Without a connection, the next open() uses the new credentials.
  void rotate() {
    if (ready_) return rotation_->begin(options_);
    if (connection_ == nullptr) return;
    close();
    wait(Clock::duration::zero(), &Link::open);
  }

  void close() {
    rotation_->stop();
    if (connection_ != nullptr) connection_->close();
    connection_.reset();
    ready_ = subscribed_ = ask_again_ = false;
    awaited_ = Awaited::nothing;
    ++wait_;
    timer_.cancel();
  }

 private:
  // The reply that the link waits for: to UNSUBSCRIBE, GET-MASTER-ADDR-BY-NAME, MASTER or SUBSCRIBE.
  enum class Awaited : std::uint8_t { nothing, unsubscribed, primary, view, subscribed };

  void open() {
    opened_ = Clock::now();
    reader_.reset();
    connection_ =
        std::make_shared<Connection>(set_.context_, options_, static_cast<Connection::Owner&>(*this), opens_++);
    connection_->open();
    wait(options_.connect_timeout, &Link::timed_out);
  }

  // Unsubscribes first, because a subscribed RESP2 connection accepts no other commands. A sentinel executes all the
  // commands in one go, so the link misses no message.
  void send() {
    if (awaited_ != Awaited::nothing) return;
    ask_again_ = connection_->writing();
    if (ask_again_) return;
    awaited_ = subscribed_ ? Awaited::unsubscribed : Awaited::primary;
    const std::string& name = set_.options_.target.primary_name;
    connection_->out().clear();
    CommandWriter out(connection_->out());
    if (std::exchange(subscribed_, false)) out.array(2).bulk("UNSUBSCRIBE").bulk(kChannel);
    out.array(3).bulk("SENTINEL").bulk("GET-MASTER-ADDR-BY-NAME").bulk(name);
    out.array(3).bulk("SENTINEL").bulk("MASTER").bulk(name);
    out.array(2).bulk("SUBSCRIBE").bulk(kChannel);
    connection_->write();
    wait(options_.connect_timeout, &Link::timed_out);
  }

  void on_ready(ServerInfo) override {
    ready_ = true;
    send();
  }
  void on_sent() override {}
  void on_written() override {
    if (ask_again_) send();
    use_successor();
  }
  void on_lost(Error error, bool) override { lost(std::move(error)); }

  Result<> check(const ServerInfo&) const override { return {}; }
  void on_successor() override { use_successor(); }
  void on_rotation_failed(const Error& why, bool report) override {
    if (report) set_.owner_.on_sentinel_failed(as_sentinel_error(why));
  }
  double random() override { return set_.random(); }

  // Replaces the connection by one with new credentials. Asks at once, because a message may have been published before
  // the new connection is subscribed.
  void use_successor() {
    if (!rotation_->ready() || awaited_ != Awaited::nothing || connection_->writing()) return;
    connection_->close();
    connection_ = rotation_->take().connection;
    connection_->serve(*this);
    reader_.reset();
    subscribed_ = ask_again_ = false;
    send();
  }

  void on_bytes(std::string_view bytes) override {
    const std::shared_ptr<Connection> connection = connection_;
    reader_.feed(bytes);
    while (connection == connection_) {
      const Result<const Reply*> reply = reader_.next();
      if (!reply) return lost(described(reply.error()));
      if (*reply == nullptr) return;
      if (!take(**reply))
        return lost(described({"protocol", "it sent a reply without a command: is this a Sentinel?"}));
    }
  }

  // Returns false if the link did not wait for this reply.
  bool take(const Reply& reply) {
    const bool message = reply.elements.size() == 3 && reply.elements[0].text == "message";
    if (message && (awaited_ == Awaited::nothing || awaited_ == Awaited::unsubscribed)) {
      const auto primary = read_switch(reply.elements[2].text, set_.options_.target.primary_name);
      if (primary) set_.named(*primary);
      return true;
    }
    switch (awaited_) {
      case Awaited::nothing:
        return false;
      case Awaited::unsubscribed:
        awaited_ = Awaited::primary;
        return true;
      case Awaited::primary:
        primary_ = read_primary(reply);
        awaited_ = Awaited::view;
        return true;
      case Awaited::view:
        view_ = read_view(std::move(primary_), reply);
        awaited_ = Awaited::subscribed;
        return true;
      case Awaited::subscribed:
        awaited_ = Awaited::nothing;
        subscribed_ = !reply.is_error();
        if (view_ && reply.is_error()) view_ = std::unexpected(sentinel_error(reply));
        answered();
        return true;
    }
    return false;
  }

  void answered() {
    backoff_.reset();
    wait(kPoll, &Link::send);
    if (!view_) {
      view_.error() = described(std::move(view_.error()));
      complain(view_.error());
    } else {
      complained_ = false;
    }
    use_successor();
    set_.answered(index_, view_);
  }

  void timed_out() {
    lost(described({"timeout", fmt::format("no answer within {} ms ({})", options_.connect_timeout.count(),
                                           connection_->stage())}));
  }

  void lost(Error error) {
    close();
    wait(backoff_.next(set_.random()), &Link::open);
    error = as_sentinel_error(std::move(error));
    complain(error);
    set_.answered(index_, std::unexpected(std::move(error)));
  }

  void complain(const Error& error) {
    if (!std::exchange(complained_, true)) set_.owner_.on_sentinel_failed(error);
  }

  Error described(Error error) const {
    return {std::move(error.code), fmt::format("{}: {}", to_string(options_.target), error.text)};
  }

  void wait(Clock::duration duration, void (Link::*then)()) {
    timer_.expires_after(duration);
    timer_.async_wait(
        [this, then, alive = set_.weak_from_this(), wait = ++wait_](const boost::system::error_code& error) {
          if (!error && !alive.expired() && wait == wait_) (this->*then)();
        });
  }

  Sentinels& set_;
  const std::size_t index_;
  const Options options_;
  Backoff backoff_;
  std::shared_ptr<Connection> connection_;  // nullptr while there is no connection
  ReplyReader reader_;
  const std::shared_ptr<Rotation> rotation_;
  Awaited awaited_ = Awaited::nothing;
  Result<HostPort> primary_;
  Result<SentinelView> view_;
  bool ready_ = false;
  bool subscribed_ = false;
  bool ask_again_ = false;  // call send() when the write under way is complete
  bool complained_ = false;
  unsigned opens_ = 0;
  Clock::time_point opened_{};
  Timer timer_;
  std::uint64_t wait_ = 0;  // number of the current wait; handlers of earlier waits do nothing
};

Sentinels::Sentinels(asio::io_context& context, const Options& options, Owner& owner)
    : context_(context),
      options_(options),
      owner_(owner),
      watch_(std::make_shared<CredentialWatch>(
          context,
          std::vector{options.sentinel_password_file, options.sentinel_login_file, options.tls_ca_file,
                      options.tls_cert_file, options.tls_key_file},
          [this] { rotate(); })),
      search_(options.target.sentinels.size()),
      node_(options),
      timer_(context) {
  node_.target.sentinels.clear();
  node_.target.host.clear();
  for (std::size_t i = 0; i < options.target.sentinels.size(); ++i) links_.push_back(std::make_unique<Link>(*this, i));
}

Sentinels::~Sentinels() = default;

void Sentinels::search() {
  watch_->start();
  attempt_ends_ = Clock::now() + options_.connect_timeout;
  candidates_.clear();
  begin(Mode::search);
}

void Sentinels::begin(Mode mode) {
  mode_ = mode;
  check_wanted_ = false;
  begun_ = Clock::now();
  search_.begin(begun_ + options_.connect_timeout / 2);
  for (const auto& link : links_) link->ask();
  arm_timer();
}

std::optional<Sentinels::Attempt> Sentinels::next_candidate() {
  if (tried_ == candidates_.size()) return std::nullopt;
  const auto left = std::max(Clock::duration::zero(), attempt_ends_ - Clock::now());
  const Clock::duration share = left / static_cast<Clock::rep>(candidates_.size() - tried_);
  const HostPort& address = candidates_[tried_++].address;
  node_.target.host = address.host;
  node_.target.port = address.port;
  return Attempt{node_, share};
}

void Sentinels::rotate() {
  for (const auto& link : links_) link->rotate();
}

void Sentinels::stop() {
  watch_->stop();
  for (const auto& link : links_) link->close();
  if (search_.under_way()) static_cast<void>(search_.finish());
  candidates_.clear();
  tried_ = 0;
  mode_ = Mode::idle;
  check_wanted_ = false;
  ++wait_;
  timer_.cancel();
}

bool Sentinels::in_use(const HostPort& address) const {
  return address == HostPort{node_.target.host, node_.target.port};
}

// A sentinel names `primary` in a message, or in an answer outside of a search.
void Sentinels::named(const HostPort& primary) {
  if (in_use(primary)) return;
  check_wanted_ = true;
  if (mode_ == Mode::idle) arm_timer();
}

void Sentinels::answered(std::size_t sentinel, Result<SentinelView> view) {
  if (mode_ == Mode::idle) {
    if (view) named(view->primary);
    return;
  }
  search_.answered(sentinel, std::move(view), Clock::now());
  proceed();
}

void Sentinels::proceed() {
  if (search_.enough(Clock::now())) return finish();
  arm_timer();
}

void Sentinels::finish() {
  const Mode mode = std::exchange(mode_, Mode::idle);
  std::vector<SentinelSearch::Candidate> found = search_.finish();
  if (check_wanted_) arm_timer();
  if (mode == Mode::search) {
    candidates_ = std::move(found);
    tried_ = 0;
    return candidates_.empty() ? owner_.on_no_primary(search_.why_nobody()) : owner_.on_candidates();
  }
  if (found.empty() || in_use(found[0].address)) return;
  const auto current =
      std::ranges::find_if(found, [this](const SentinelSearch::Candidate& each) { return in_use(each.address); });
  // A single lying sentinel must not make the client leave a primary that another sentinel still names.
  if (current != found.end() && current->votes >= found[0].votes) return;
  owner_.on_moved(
      {"switch_master", fmt::format("{} of {} sentinels name {} as the primary of {}", found[0].votes, links_.size(),
                                    to_string(found[0].address), options_.target.primary_name)});
}

// Waits for the end of the search or check that runs. If none runs, waits until the next check may begin.
void Sentinels::arm_timer() {
  timer_.expires_at(mode_ == Mode::idle ? begun_ + kBetweenAttempts : search_.ends_at());
  timer_.async_wait([self = shared_from_this(), wait = ++wait_](const boost::system::error_code& error) {
    if (error || wait != self->wait_) return;
    if (self->mode_ != Mode::idle) return self->proceed();
    if (self->check_wanted_) self->begin(Mode::check);
  });
}

double Sentinels::random() {
  return static_cast<double>(random_() - std::minstd_rand::min()) /
         (static_cast<double>(std::minstd_rand::max() - std::minstd_rand::min()) + 1);
}

}  // namespace sluice::redis
