#include "server/counters/redis_link.hpp"

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::server::counters {
namespace {

// With more writes in flight, the last ones could wait too long in the client's queue and fail.
constexpr std::size_t kWritesInFlight = 64;

// Commands of one batch in flight. Redis serves agents between two of them.
constexpr std::size_t kCommandsInFlight = 16;

// Enough for the names of all users of Redis.
constexpr std::size_t kMaxReplyBytes = std::size_t{32} << 20;

// Key names to try. Enough to find a key even for a node that serves only one of the 16,384 slots.
constexpr unsigned kMostNames = 200'000;

constexpr limiter::StoreError kStopped{limiter::StoreFault::unavailable, false};

// Passes a value to a waiting thread, which can then destroy the Handover at once. std::promise does not allow that,
// because its set_value() may still be running.
template <class T>
class Handover {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    changed_.notify_one();
  }
  T wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return value_.has_value(); });
    return std::move(*value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

redis::Options own_options(redis::Options options) {
  options.client_name = "sluice-server";
  options.max_reply_bytes = kMaxReplyBytes;
  options.scripts = limiter::script_texts();
  return options;
}

}  // namespace

// Thread: everything except the constructor and wait() runs on the link's loop.
class RedisLink::Batch {
 public:
  Batch(limiter::RedisStore& store, std::span<const KeyWrite> writes) : store_(store), writes_(writes) {
    slots_.reserve(writes.size());
    for (std::size_t i = 0; i < writes.size(); ++i) slots_.emplace_back(*this);
  }

  void send_more() {
    while (in_flight_ < kWritesInFlight && next_ < writes_.size()) {
      ++in_flight_;
      Slot& slot = slots_[next_];
      const KeyWrite& write = writes_[next_++];
      if (write.reset) {
        store_.reset(write.counter_key, write.collections, slot);
      } else {
        store_.put_overrides(write.counter_key, write.overrides, slot);
      }
    }
    if (in_flight_ == 0) done_.set(true);
  }

  std::vector<limiter::StoreResult<void>> wait() {
    done_.wait();
    std::vector<limiter::StoreResult<void>> results;
    results.reserve(slots_.size());
    for (Slot& slot : slots_) results.push_back(slot.result);
    return results;
  }

 private:
  struct Slot final : limiter::OverrideListener {
    explicit Slot(Batch& owner) : batch(&owner) {}
    void stored(const limiter::StoreResult<void>& outcome) override {
      result = outcome;
      --batch->in_flight_;
      batch->send_more();
    }
    Batch* batch;
    limiter::StoreResult<void> result;
  };

  limiter::RedisStore& store_;
  const std::span<const KeyWrite> writes_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  std::size_t in_flight_ = 0;
  Handover<bool> done_;
};

class RedisLink::Judgement final : public limiter::JudgeListener {
 public:
  void judged(limiter::StoreResult<limiter::Outcome>&& result) override { done_.set(std::move(result)); }
  limiter::StoreResult<limiter::Outcome> wait() { return done_.wait(); }

 private:
  Handover<limiter::StoreResult<limiter::Outcome>> done_;
};

// Thread: everything except the constructor and wait() runs on the link's loop.
class RedisLink::Commands {
 public:
  Commands(redis::Client& client, std::span<const Request> requests) : client_(client) {
    for (const Request& request : requests) each_.emplace_back(*this, request);
  }

  void send_more() {
    while (in_flight_ < kCommandsInFlight && next_ < each_.size()) {
      ++in_flight_;
      Each& each = each_[next_++];
      client_.submit(each, each.request.key, {.patience = redis::Patience::batch});
    }
    if (in_flight_ == 0) done_.set(true);
  }

  std::vector<Result<Answer>> wait() {
    done_.wait();
    std::vector<Result<Answer>> answers;
    answers.reserve(each_.size());
    for (Each& each : each_) answers.push_back(std::move(each.answer));
    return answers;
  }

 private:
  struct Each final : redis::Command {
    Each(Commands& owner, const Request& its_request) : batch(owner), request(its_request) {}
    void write(redis::CommandWriter& out, redis::CallBy) override {
      out.array(request.words.size());
      for (const std::string& word : request.words) out.bulk(std::string_view(word));
    }
    void on_reply(const redis::Reply& reply) override { finish(read(reply)); }
    void on_failure(redis::Failure) override { finish(failure("unavailable", "Redis did not answer")); }
    void finish(Result<Answer> result) {
      answer = std::move(result);
      --batch.in_flight_;
      batch.send_more();
    }

    Commands& batch;
    const Request& request;
    Result<Answer> answer;
  };

  static Result<Answer> read(const redis::Reply& reply) {
    if (reply.is_error()) return failure("redis", std::string(reply.text));
    Answer answer;
    if (reply.type == redis::Reply::Type::integer) {
      answer.text = std::to_string(reply.integer);
    } else if (reply.type != redis::Reply::Type::nil) {
      answer.text = std::string(reply.text);
    }
    for (const redis::Reply& element : reply.elements) answer.list.emplace_back(element.text);
    return answer;
  }

  redis::Client& client_;
  std::deque<Each> each_;
  std::size_t next_ = 0;
  std::size_t in_flight_ = 0;
  Handover<bool> done_;
};

RedisLink::RedisLink(redis::Options options, const Clock& clock, telemetry::Log& log)
    : log_(log),
      outage_(log, {"redis_still_away", "Redis still cannot be used; overrides wait in the outbox.", "redis_back",
                    "Redis answers again: overrides are published."}),
      client_(context_, own_options(std::move(options)), observer()),
      store_(client_, clock, {}) {}

RedisLink::~RedisLink() { stop(); }

redis::Observer RedisLink::observer() {
  const auto lost = [this](const Error& error, std::string_view event, std::string_view message) {
    outage_.failed(0, event, message, error);
    note_ready();
  };
  return {.connected =
              [this](const redis::ServerInfo& server) {
                const std::string before = std::exchange(address_, server.address);
                // After an outage, "redis_back" says the same.
                const bool is_news = !outage_.lasts() || before != server.address;
                log_.write(is_news ? telemetry::LogLevel::info : telemetry::LogLevel::debug, "redis_connected",
                           "Overrides are published to this Redis.",
                           {{"address", server.address},
                            {"product", server.product},
                            {"version", server.version},
                            {"role", server.role}});
                note_ready();
                attempted(server);
                if (connected_) connected_();
              },
          .connect_failed =
              [this, lost](const Error& error) {
                lost(error, "redis_connect_failed", "Redis cannot be used yet; overrides wait in the outbox.");
                attempted(std::nullopt);
              },
          .disconnected =
              [lost](const Error& error) {
                lost(error, "redis_disconnected", "The connection to Redis is lost; the server reconnects.");
              },
          .breaker_changed =
              [this](const std::string& endpoint, redis::Breaker::State state) {
                breaker_states_.set(0, endpoint, static_cast<int>(state));
                if (state == redis::Breaker::State::open) {
                  open_breakers_.insert(endpoint);
                  outage_.failed(0, "breaker_opened", "Redis does not answer: overrides wait in the outbox.",
                                 {"breaker_open", endpoint + " does not answer"}, {{"endpoint", endpoint}});
                } else if (state == redis::Breaker::State::closed) {
                  open_breakers_.erase(endpoint);
                  note_ready();
                }
              },
          .endpoint_added = [this](const std::string& endpoint) { breaker_states_.set(0, endpoint, 0); },
          .endpoint_removed =
              [this](const std::string& endpoint) {
                breaker_states_.remove(0, endpoint);
                open_breakers_.erase(endpoint);
                note_ready();
              },
          .slots_changed = [this] { note_ready(); },
          .sentinel_failed =
              [this](const Error& error) {
                log_.warn("redis_sentinel_failed", "One sentinel failed: it cannot help to find the primary.",
                          {{"code", error.code}, {"reason", error.text}});
              },
          .rotated =
              [this](const redis::ServerInfo& server) {
                log_.info("redis_credentials_renewed", "The connection to Redis uses the new credentials.",
                          {{"address", server.address}});
              },
          .rotation_failed =
              [this](const Error& error) {
                log_.warn("redis_credentials_rejected",
                          "The new credentials for Redis do not work; the server keeps its connection and tries them "
                          "again.",
                          {{"code", error.code}, {"reason", error.text}});
              }};
}

void RedisLink::note_ready() {
  const bool ready = client_.reachable();
  ready_.store(ready, std::memory_order_relaxed);
  if (ready && open_breakers_.empty()) outage_.works(0);
  several_nodes_.store(client_.nodes() > 1, std::memory_order_relaxed);
}

void RedisLink::attempted(std::optional<redis::ServerInfo> found) {
  {
    const std::lock_guard lock(mutex_);
    if (attempted_) return;
    attempted_ = true;
    first_ = std::move(found);
  }
  changed_.notify_all();
}

void RedisLink::start(std::function<void()> connected) {
  connected_ = std::move(connected);
  {
    const std::lock_guard lock(mutex_);
    stopped_ = false;
  }
  work_.emplace(context_.get_executor());
  boost::asio::post(context_, [this] { client_.start(); });
  thread_ = std::thread([this] { context_.run(); });
}

void RedisLink::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    // Runs after everything that was posted before, so every waiting thread gets its answer.
    boost::asio::post(context_, [this] {
      client_.stop();
      work_.reset();
    });
  }
  thread_.join();
  ready_.store(false, std::memory_order_relaxed);
}

std::optional<redis::ServerInfo> RedisLink::first_attempt(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, [this] { return attempted_; });
  return first_;
}

bool RedisLink::post(std::move_only_function<void()> begin) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return false;
  boost::asio::post(context_, std::move(begin));
  return true;
}

std::vector<limiter::StoreResult<void>> RedisLink::write(std::span<const KeyWrite> writes) {
  if (writes.empty()) return {};
  Batch batch(store_, writes);
  if (!post([&batch] { batch.send_more(); })) return {writes.size(), std::unexpected(kStopped)};
  return batch.wait();
}

limiter::StoreResult<limiter::Outcome> RedisLink::judge(const limiter::Call& call) {
  Judgement judgement;
  if (!post([this, &call, &judgement] { store_.judge(call, judgement); })) return std::unexpected(kStopped);
  return judgement.wait();
}

std::vector<RedisLink::NodeKey> RedisLink::key_of_each_node(const std::function<std::string(unsigned)>& name) {
  using Keys = std::vector<NodeKey>;
  Handover<Keys> done;
  const auto find = [&] {
    Keys keys(client_.nodes());
    std::size_t found = 0;
    for (unsigned number = 0; found < keys.size() && number < kMostNames; ++number) {
      std::string key = name(number);
      const auto node = client_.node_of(key);
      if (!node || !keys[*node].key.empty()) continue;
      keys[*node] = {std::move(key), client_.slots_hash(*node), client_.endpoint(*node)};
      ++found;
    }
    std::erase_if(keys, [](const NodeKey& each) { return each.key.empty(); });
    done.set(std::move(keys));
  };
  return post(find) ? done.wait() : Keys();
}

Result<std::optional<std::string>> RedisLink::command(std::string key, std::vector<std::string> words) {
  const Request request{.key = std::move(key), .words = std::move(words)};
  Result<Answer> answer = std::move(commands({&request, 1}).front());
  if (!answer) return std::unexpected(std::move(answer.error()));
  return std::move(answer->text);
}

std::vector<Result<RedisLink::Answer>> RedisLink::commands(std::span<const Request> requests) {
  Commands batch(client_, requests);
  if (!post([&batch] { batch.send_more(); })) {
    return std::vector<Result<Answer>>(requests.size(), failure("unavailable", "the server is stopping"));
  }
  return batch.wait();
}

}  // namespace sluice::server::counters
