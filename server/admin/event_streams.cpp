#include "server/admin/event_streams.hpp"

#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <boost/asio/steady_timer.hpp>

#include "server/admin/fleet_events.hpp"
#include "server/http/headers.hpp"

namespace sluice::server::admin {

using std::chrono::steady_clock;

class EventStreams::Stream final : public sluice::http::StreamEvents, public std::enable_shared_from_this<Stream> {
 public:
  Stream(EventStreams& all, Call call, const FollowedFleet& fleet)
      : all_(all),
        call_(std::move(call)),
        token_id_(fleet.token_id),
        events_({.last_event_id = call_.last_event_id, .revision = fleet.revision, .agents = fleet.agents}),
        timer_(all.loop_) {
    call_.trace = {};  // a stream repeats its statements every second
    events_.update(fleet.image);
  }

  const std::string& token_id() const { return token_id_; }

  // Returns false if the client is gone already.
  bool begin(sluice::http::Reply& reply) {
    const std::string headers = http::answer_headers("X-Accel-Buffering: no\r\n", call_.request_id);
    stream_ =
        reply.stream({.status = 200, .content_type = "text/event-stream", .headers = headers, .body = kRetry}, *this);
    return stream_.open();
  }

  void run() {
    write_news();
    wait();
  }

  void finish() {
    open_ = false;
    timer_.cancel();
    stream_.finish();
  }

  void on_writable() override { write_news(); }
  void on_ended() override { all_.remove(*this); }

 private:
  // Writes until there is nothing new, or the client must read first.
  void write_news() {
    while (open_ && stream_.open()) {
      if (unsent_.empty()) unsent_ = next();
      if (unsent_.empty() || !stream_.write(unsent_)) return;
      unsent_.clear();
      written_at_ = steady_clock::now();
    }
  }

  std::string next() {
    if (stale_ != told_stale_) {
      told_stale_ = stale_;
      return stale_event(stale_);
    }
    return stale_.empty() ? events_.next() : std::string();
  }

  void wait() {
    timer_.expires_after(kRepeatEvery);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
      if (stopped || !self->open_) return;
      self->ask();
      if (!self->open_) return;
      if (self->unsent_.empty() && steady_clock::now() - self->written_at_ >= kHeartbeatEvery) {
        self->unsent_ = kHeartbeat;
        self->write_news();
      }
      self->wait();
    });
  }

  // The call may be answered at once, if the pool is full.
  void ask() {
    if (asking_) return;
    asking_ = true;
    all_.repeat_(std::make_shared<PendingCall>(call_, [self = shared_from_this()](FinishedAnswer answer) {
      self->asking_ = false;
      if (self->open_) self->take(std::move(answer));
    }));
  }

  void take(FinishedAnswer answer) {
    if (answer.fleet) {
      stale_.clear();
      events_.update(answer.fleet->image);
    } else if (answer.status >= 500) {
      stale_ = "The server cannot read the agents from PostgreSQL now: what was sent before may be old.";
    } else {
      ++all_.statistics_.ended;
      if (unsent_.empty()) stream_.write(end_event(answer.body));
      return all_.remove(*this);
    }
    write_news();
  }

  EventStreams& all_;
  Call call_;
  const std::string token_id_;
  FleetEvents events_;
  sluice::http::Stream stream_;
  boost::asio::steady_timer timer_;
  bool open_ = true;
  bool asking_ = false;
  std::string unsent_;      // an event that the client has not made room for yet
  std::string stale_;       // why the data is old, "" if it is not
  std::string told_stale_;  // what the client was told of that
  steady_clock::time_point written_at_ = steady_clock::now();
};

EventStreams::EventStreams(boost::asio::io_context& loop, Repeat repeat) : loop_(loop), repeat_(std::move(repeat)) {}

EventStreams::~EventStreams() = default;

std::optional<http::Refusal> EventStreams::open(PendingCall& pending, const FinishedAnswer& answer) {
  if (auto refusal = limit_reached(answer.fleet->token_id)) return refusal;
  const auto stream = std::make_shared<Stream>(*this, pending.call, *answer.fleet);
  if (!stream->begin(std::get<sluice::http::Reply>(pending.reply))) return std::nullopt;
  streams_.emplace(stream.get(), stream);
  ++by_token_[stream->token_id()];
  statistics_.open = static_cast<std::int64_t>(streams_.size());
  stream->run();
  return std::nullopt;
}

std::optional<http::Refusal> EventStreams::limit_reached(const std::string& token_id) {
  if (ended_)
    return http::Refusal(503, "unavailable", "This server is stopping: connect again.", {}, "Retry-After: 1\r\n");
  const auto own = by_token_.find(token_id);
  if (own != by_token_.end() && own->second >= kMaxPerToken) {
    ++statistics_.refused;
    return http::Refusal(429, "too-many-streams",
                         fmt::format("This token has {} open event streams on this server, the most that a token may "
                                     "have, those of its sessions among them: close one first.",
                                     kMaxPerToken),
                         {}, "Retry-After: 5\r\n");
  }
  if (streams_.size() < kMax) return std::nullopt;
  ++statistics_.refused;
  return http::Refusal(
      503, "overload",
      fmt::format("This server has {} open event streams, the most that it may have; try again.", kMax), {},
      "Retry-After: 5\r\n");
}

void EventStreams::remove(Stream& stream) {
  const auto found = streams_.find(&stream);
  if (found == streams_.end()) return;
  const std::shared_ptr<Stream> keep_alive = std::move(found->second);
  streams_.erase(found);
  const auto own = by_token_.find(stream.token_id());
  if (--own->second == 0) by_token_.erase(own);
  statistics_.open = static_cast<std::int64_t>(streams_.size());
  stream.finish();
}

void EventStreams::end() {
  ended_ = true;
  std::vector<std::shared_ptr<Stream>> all;
  for (const auto& [key, stream] : streams_) all.push_back(stream);
  for (const auto& stream : all) remove(*stream);
}

}  // namespace sluice::server::admin
