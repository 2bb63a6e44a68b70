#include "server/sync/feed.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/postgres/failure.hpp"
#include "server/sync/reader.hpp"

namespace sluice::server::sync {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kHangs{5};  // after this time /readyz reports a running round as stuck

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// A connection that receives notifications of new revisions, and of questions of what-if.
class Feed::Connection {
 public:
  Connection(const postgres::DatabaseOptions& database, const std::function<void()>& received)
      : connection_(postgres::connect(database)),
        revisions_(*connection_, "sluice_revision", received),
        questions_(*connection_, std::string(kQuestionChannel), received) {}

  pqxx::connection& connection() { return *connection_; }
  int socket() const { return connection_->sock(); }
  // Throws if the connection is lost.
  void receive() {
    // If the connection was closed when the round's transaction ended, get_notifs() would return without an error.
    if (!connection_->is_open()) throw pqxx::broken_connection("the connection is closed");
    connection_->get_notifs();
  }

 private:
  class Receiver final : public pqxx::notification_receiver {
   public:
    Receiver(pqxx::connection& connection, const std::string& channel, std::function<void()> received)
        : notification_receiver(connection, channel), received_(std::move(received)) {}
    void operator()(const std::string& /*payload*/, int /*backend*/) override { received_(); }

   private:
    std::function<void()> received_;
  };

  std::unique_ptr<pqxx::connection> connection_;
  Receiver revisions_;
  Receiver questions_;
};

Feed::Feed(Options options, telemetry::Log& log)
    : options_(std::move(options)),
      log_(log),
      outage_(log, {"feed_still_lost", "Policy sync still cannot read PostgreSQL.", "feed_back",
                    "Policy sync reads PostgreSQL again."}),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

Feed::~Feed() {
  stop();
  if (wake_ >= 0) close(wake_);
}

void Feed::start(Listener listener) {
  listener_ = std::move(listener);
  thread_.start([this] {
    run();
    finish_polls(false);
  });
}

bool Feed::stop_within(std::chrono::milliseconds patience) {
  request_stop();
  if (!thread_.finished_within(patience)) return false;
  thread_.join();
  return true;
}

void Feed::stop() {
  request_stop();
  thread_.join();
}

void Feed::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
}

void Feed::poll(std::function<void(bool succeeded)> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!unreachable_ && !stopping_) {
      waiting_.push_back(std::move(done));
      done = nullptr;
    }
  }
  if (done) return done(false);
  wake();
}

void Feed::wake() {
  const std::uint64_t one = 1;
  // If the eventfd's counter is full, the write fails, but the thread wakes all the same.
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
}

void Feed::clear_wake() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_, &count, sizeof count);
}

bool Feed::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Feed::finish_polls(bool succeeded) {
  std::vector<std::function<void(bool)>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  for (const auto& done : waiting) done(succeeded);
}

void Feed::run() {
  std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> share(0, 1);
  Backoff retry(200ms, 4s);
  while (!stopping()) {
    if (run_round()) {
      retry.reset();
      await_next_round();
    } else {
      back_off(retry.next(share(random)));
    }
  }
}

// Returns false if PostgreSQL could not be queried.
bool Feed::run_round() {
  pace_.requested(steady_clock::now());
  const bool paced = pace_.begin(steady_clock::now());
  // The next round answers the poll() calls that come from now on.
  std::vector<std::function<void(bool)>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  busy_since_ms_ = now_ms();
  const bool good = advance();
  busy_since_ms_ = 0;
  if (paced) pace_.succeeded();
  if (good) ++statistics_.rounds;
  statistics_.following = good;
  if (good) outage_.works(0);
  outage_.tick();
  {
    const std::lock_guard lock(mutex_);
    unreachable_ = !good;
    // While PostgreSQL cannot be reached, no poll() call keeps waiting.
    if (!good) {
      std::ranges::move(waiting_, std::back_inserter(waiting));
      waiting_.clear();
    }
  }
  for (const auto& done : waiting) done(good);
  return good;
}

// Reads the new revisions, or everything. Returns false if that failed.
bool Feed::advance() {
  PublishSpans published(options_.tracer);
  try {
    if (!connection_) {
      connection_ = std::make_unique<Connection>(options_.database, [this] { pace_.changed(steady_clock::now()); });
    }
    postgres::Transaction tx(connection_->connection());
    tx.use_one_snapshot();
    tx.enter(postgres::Scope::everything("sluice-server"));
    if (question_listener_) publish_questions(read_questions(tx));
    if (state_) {
      Advance advance = read_next(tx, *state_, published);
      if (advance.progress == Progress::unchanged) return true;
      if (advance.progress == Progress::advanced) {
        statistics_.revisions += static_cast<std::uint64_t>(advance.revisions);
        publish(std::move(advance.state));
        return true;
      }
      log_.warn("history_changed",
                "PostgreSQL has another history than before (a restored backup, or a failover): the server reads all "
                "objects again, and agents get full snapshots.",
                {{"revision", state_->head().revision}});
    }
    SyncState full = read_full(tx);
    full.epoch = state_ ? state_->epoch + 1 : 1;
    ++statistics_.full_reads;
    log_.info("feed_loaded", "Policy sync has read all objects from PostgreSQL.",
              {{"revision", full.head().revision}, {"objects", full.objects.size()}});
    publish(std::move(full));
    return true;
  } catch (const std::exception& error) {
    ++statistics_.failures;
    published.discard();
    connection_.reset();
    outage_.failed(0, "feed_lost",
                   "Policy sync cannot read PostgreSQL: agents get the policies in memory, and no later changes.",
                   {std::string(to_string(postgres::classify(error))), postgres::describe(error)});
    return false;
  }
}

void Feed::publish_questions(OpenQuestions open) {
  if (open.empty() && !asked_) return;
  asked_ = !open.empty();
  question_listener_(std::move(open));
}

void Feed::publish(SyncState next) {
  next.sequence = state_ ? state_->sequence + 1 : 1;
  state_ = std::make_shared<const SyncState>(std::move(next));
  statistics_.revision = state_->head().revision;
  statistics_.snapshot_bytes = state_->objects.document_bytes();
  loaded_ = true;
  listener_(state_);
}

// Waits for a notification, a call of poll() or the time of the next periodic round. If kPace has not yet passed since
// the last round began, waits for that too.
void Feed::await_next_round() {
  const Time poll_at = steady_clock::now() + options_.poll_every;
  try {
    for (;;) {
      connection_->receive();
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        if (!waiting_.empty()) pace_.requested(steady_clock::now());
      }
      const Time now = steady_clock::now();
      const Time next = std::min(poll_at, pace_.due().value_or(poll_at));
      if (next <= now) return;
      std::array<pollfd, 2> waiting{{{.fd = connection_->socket(), .events = POLLIN, .revents = 0},
                                     {.fd = wake_, .events = POLLIN, .revents = 0}}};
      const auto time = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
      // While a round is scheduled, notifications need not wake the thread: that round will read their revisions.
      const bool scheduled = pace_.due().has_value();
      ::poll(scheduled ? &waiting[1] : waiting.data(), scheduled ? 1 : 2, static_cast<int>(time));
      clear_wake();
    }
  } catch (const std::exception&) {
    connection_.reset();  // the next round connects again
  }
}

// Ends early when the feed stops.
void Feed::back_off(std::chrono::nanoseconds time) {
  const Time end = steady_clock::now() + time;
  while (!stopping() && steady_clock::now() < end) {
    pollfd waiting{.fd = wake_, .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1,
           static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count()));
    clear_wake();
  }
}

std::vector<std::string> Feed::degraded() const {
  const std::int64_t busy_since = busy_since_ms_;
  const bool hangs = busy_since != 0 && now_ms() - busy_since > std::chrono::milliseconds(kHangs).count();
  if (statistics_.following && !hangs) return {};
  if (!loaded_ && statistics_.failures == 0 && !hangs) return {};  // the feed has just started
  if (!loaded_) return {"policy sync has no policies yet, because PostgreSQL cannot be reached: agents get 503"};
  return {"policy sync cannot read PostgreSQL: agents get the policies in memory, and no later changes"};
}

}  // namespace sluice::server::sync
