#include "common/otlp/exporter.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <random>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/backoff.hpp"
#include "common/base/timed_join_thread.hpp"
#include "common/http/gzip.hpp"
#include "common/http_client/client.hpp"
#include "common/otlp/export_answer.hpp"
#include "common/telemetry/outage_log.hpp"

namespace sluice::otlp {

namespace asio = boost::asio;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

constexpr auto kFirstPause = 1s;
constexpr auto kLongestPause = 30s;
constexpr auto kTick = 2s;
constexpr std::size_t kMaxAnswer = std::size_t{64} << 10;
constexpr int kGzipLevel = 1;
constexpr auto kLastLookup = 100ms;

double random_share() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

void add(std::atomic<std::uint64_t>& counter, std::uint64_t count) {
  counter.fetch_add(count, std::memory_order_relaxed);
}

}  // namespace

// What the thread does. It rests until spans are due, sends one batch, and pauses before another attempt.
//
// Thread: all of it on the exporter's own thread, except wake() and finish().
class Exporter::Loop {
 public:
  Loop(Options options, tracing::SpanQueue& queue, Statistics& statistics, telemetry::Log& log)
      : options_(std::move(options)),
        queue_(queue),
        statistics_(statistics),
        outage_(log, {"trace_export_still_fails", "Spans still cannot be sent; new ones wait, or are dropped.",
                      "trace_export_back", "Spans are sent again."}),
        client_(context_, client_options(options_)) {
    queue_.wake_at(options_.batch_size, [this] { wake(); });
  }

  void run() {
    tick();
    bool begun = false;
    for (bool stopped = false; !stopped;) {
      try {
        if (!std::exchange(begun, true)) rest();
        context_.run();
        stopped = true;
      } catch (const std::exception&) {  // no memory, descriptor or thread for this batch
        drop(statistics_.export_failed);
        client_.cancel();
        begun = false;
      }
    }
  }

  void wake() noexcept {
    try {
      asio::post(context_, [this] {
        if (state_ == State::resting && steady_clock::now() >= not_before_) next();
      });
    } catch (const std::bad_alloc&) {  // the batch is sent when the rest is over
    }
  }

  // Sends what waits, and ends run(). A pause ends now.
  void finish(std::chrono::milliseconds patience) {
    asio::post(context_, [this, patience] {
      stopping_ = true;
      end_timer_.expires_after(patience);
      end_timer_.async_wait([this](const boost::system::error_code&) { context_.stop(); });
      not_before_ = {};
      if (state_ == State::resting) next();
      if (state_ == State::pausing) attempt();
    });
  }

  std::size_t unsent() const { return batch_.size(); }

 private:
  enum class State : std::uint8_t { resting, sending, pausing };

  static http_client::Options client_options(const Options& options) {
    return {.server = options.collector,
            .tls = options.tls,
            .connect_timeout = options.request_timeout,
            .head_timeout = options.request_timeout,
            .idle_timeout = options.request_timeout,
            .user_agent = "sluice-otlp"};
  }

  void rest() {
    if (stopping_) return context_.stop();
    state_ = State::resting;
    wait_until(std::max(steady_clock::now() + options_.schedule_delay, not_before_), [this] { next(); });
  }

  void next() {
    batch_ = queue_.take(options_.batch_size);
    if (batch_.empty()) return rest();
    message_ = trace_message(options_.resource, batch_);
    if (options_.gzip) message_ = http::gzip(message_, kGzipLevel);
    give_up_at_ = steady_clock::now() + options_.export_timeout;
    attempt();
  }

  void attempt() {
    state_ = State::sending;
    wait_until(steady_clock::now() + options_.request_timeout, [this] {
      client_.cancel();
      attempted(failure("timeout", "the collector did not answer in time"));
    });
    client_.send(request(), [this](Result<http_client::Response> outcome) { attempted(std::move(outcome)); });
  }

  http_client::Request request() const {
    http_client::Request request{.method = "POST",
                                 .target = options_.target,
                                 .fields = options_.headers,
                                 .content_type = "application/x-protobuf",
                                 .body = message_,
                                 .max_body = kMaxAnswer};
    if (options_.gzip) request.fields.emplace_back("Content-Encoding", "gzip");
    return request;
  }

  void attempted(const Result<http_client::Response>& outcome) {
    const ExportAnswer answer = judge(outcome);
    if (answer.verdict == ExportAnswer::Verdict::taken) return taken(answer.rejected);
    add(statistics_.failed_attempts, 1);
    outage_.failed(0, "trace_export_failed", "Spans cannot be sent to the collector.", answer.why);
    const Backoff::Duration pause = answer.retry_after ? *answer.retry_after : backoff_.next(random_share());
    not_before_ = steady_clock::now() + pause;
    const bool again = answer.verdict == ExportAnswer::Verdict::retry && not_before_ < give_up_at_ && !stopping_;
    if (!again) {
      drop(answer.verdict == ExportAnswer::Verdict::refused ? statistics_.refused : statistics_.export_failed);
      return rest();
    }
    state_ = State::pausing;
    wait_until(not_before_, [this] { attempt(); });
  }

  void taken(std::uint64_t rejected) {
    rejected = std::min<std::uint64_t>(rejected, batch_.size());
    add(statistics_.exported, batch_.size() - rejected);
    add(statistics_.refused, rejected);
    batch_.clear();
    outage_.works(0);
    backoff_.reset();
    not_before_ = {};
    if (stopping_ || queue_.size() >= options_.batch_size) return next();
    rest();
  }

  void drop(std::atomic<std::uint64_t>& counter) {
    add(counter, batch_.size());
    batch_.clear();
  }

  // Replaces what was waited for before.
  template <class Then>
  void wait_until(steady_clock::time_point time, Then then) {
    const std::uint64_t turn = ++turn_;
    timer_.expires_at(time);
    timer_.async_wait([this, turn, then](const boost::system::error_code&) {
      if (turn == turn_) then();
    });
  }

  void tick() {
    outage_.tick();
    ticker_.expires_after(kTick);
    ticker_.async_wait([this](const boost::system::error_code& stopped) {
      if (!stopped) tick();
    });
  }

  const Options options_;
  tracing::SpanQueue& queue_;
  Statistics& statistics_;
  telemetry::OutageLog outage_;
  asio::io_context context_{1};
  http_client::Client client_;
  asio::steady_timer timer_{context_};
  asio::steady_timer ticker_{context_};
  asio::steady_timer end_timer_{context_};
  Backoff backoff_{kFirstPause, kLongestPause};
  State state_ = State::resting;
  std::uint64_t turn_ = 0;  // of timer_; a handler of an earlier turn does nothing
  bool stopping_ = false;
  std::vector<std::unique_ptr<tracing::Span>> batch_;
  std::string message_;                    // of batch_
  steady_clock::time_point give_up_at_{};  // no attempt with batch_ begins later
  steady_clock::time_point not_before_{};  // the collector is left alone until then
};

Exporter::Exporter(Options options, telemetry::Log& log)
    : log_(log),
      tracer_(options.sampler, options.queue_size),
      loop_(std::make_unique<Loop>(std::move(options), tracer_.queue(), statistics_, log)) {}

// Destroying an io_context waits for its name lookup, and getaddrinfo cannot be interrupted. So another thread does
// that: it may take longer than this program lives.
Exporter::~Exporter() {
  stop();
  TimedJoinThread end;
  end.start([loop = std::shared_ptr<Loop>(std::move(loop_))]() mutable { loop.reset(); });
  if (end.finished_within(kLastLookup)) {
    end.join();
  } else {
    end.abandon();
  }
}

void Exporter::start() {
  thread_ = std::thread([this] { loop_->run(); });
}

void Exporter::stop(std::chrono::milliseconds patience) {
  if (!thread_.joinable()) return;
  loop_->finish(patience);
  thread_.join();
  const std::size_t lost = loop_->unsent() + tracer_.queue().size();
  if (lost > 0) log_.warn("trace_spans_lost", "The program ends before all spans were sent.", {{"spans", lost}});
}

}  // namespace sluice::otlp
