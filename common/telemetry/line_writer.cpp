#include "common/telemetry/line_writer.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "common/telemetry/outage_log.hpp"

namespace sluice::telemetry {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{16} << 10;
constexpr std::chrono::seconds kRetryEvery{1};  // while the sink fails
constexpr std::chrono::seconds kTickEvery{2};   // while an outage lasts

struct Chunk {
  std::string bytes;
  std::uint64_t lines = 0;
};

}  // namespace

class LineWriter::Shared {
 public:
  Shared(std::unique_ptr<LineSink> sink, std::optional<Outage> outage, std::size_t capacity)
      : sink_(std::move(sink)), capacity_(capacity), outage_(outage) {}

  void append(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (queue_.empty() || queue_.back().bytes.size() + line.size() + 1 > kChunkBytes) {
      queue_.push_back(std::move(spare_));
      spare_ = Chunk{};
    }
    Chunk& chunk = queue_.back();
    chunk.bytes.append(line).push_back('\n');
    ++chunk.lines;
    waiting_ += line.size() + 1;
    while (waiting_ > capacity_ && queue_.size() > 1) drop_oldest();
    if (idle_) wake_.notify_one();
  }

  void start(std::shared_ptr<Shared> self) {
    thread_ = std::thread([self = std::move(self)] { self->run(); });
  }

  void stop(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) return;
    stopping_ = true;
    wake_.notify_one();
    retry_.notify_one();
    if (!ended_.wait_for(lock, patience, [&] { return done_; })) {
      give_up_ = true;
      ended_.wait_for(lock, 10 * LineSink::kWait, [&] { return done_; });
    }
    outage_.reset();  // it may end before a thread that is left behind
    while (!queue_.empty()) drop_oldest();
    const bool done = done_;
    lock.unlock();
    // If another process fills the pipe between poll() and write(), the write may never return. A thread in such
    // a write is left behind with its shared_ptr to this object, so that the program can end.
    if (done)
      thread_.join();
    else
      thread_.detach();
  }

  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void run() {
    while (std::optional<Chunk> chunk = take()) {
      write(*chunk);
      give_back(*std::move(chunk));
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

  std::optional<Chunk> take() {
    std::unique_lock lock(mutex_);
    const auto something = [&] { return stopping_ || !queue_.empty(); };
    idle_ = true;
    while (outage_ && outage_->log->lasts() && !wake_.wait_for(lock, kTickEvery, something)) outage_->log->tick();
    wake_.wait(lock, something);
    idle_ = false;
    if (queue_.empty() || give_up_) return std::nullopt;
    last_attempt_ = stopping_;
    Chunk chunk = std::move(queue_.front());
    queue_.pop_front();
    waiting_ -= chunk.bytes.size();
    return chunk;
  }

  void give_back(Chunk chunk) {
    chunk.bytes.clear();
    chunk.lines = 0;
    const std::lock_guard lock(mutex_);
    spare_ = std::move(chunk);
  }

  void write(const Chunk& chunk) {
    std::string_view rest = chunk.bytes;
    for (bool go_on = true; go_on && !rest.empty();) {
      const LineSink::Written written = sink_->write(rest);
      rest.remove_prefix(written.bytes);
      dropped_.fetch_add(written.lost, std::memory_order_relaxed);
      go_on = may_go_on(written);
    }
    // A line that was written in part counts as dropped.
    dropped_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(rest, '\n')), std::memory_order_relaxed);
  }

  // Waits before the next attempt if the sink fails. Once the writer stops, there is one more.
  bool may_go_on(const LineSink::Written& written) {
    std::unique_lock lock(mutex_);
    if (!written.error) {
      if (outage_) {
        outage_->log->works(0);
        outage_->log->tick();
      }
      return !give_up_;
    }
    if (outage_) outage_->log->failed(0, outage_->event, outage_->message, *written.error);
    if (written.bytes > 0) return !give_up_;
    if (last_attempt_) return false;
    retry_.wait_for(lock, kRetryEvery, [&] { return stopping_; });
    last_attempt_ = stopping_;
    return !give_up_;
  }

  void drop_oldest() {
    dropped_.fetch_add(queue_.front().lines, std::memory_order_relaxed);
    waiting_ -= queue_.front().bytes.size();
    queue_.pop_front();
  }

  const std::unique_ptr<LineSink> sink_;  // used by the thread alone
  const std::size_t capacity_;
  std::atomic<std::uint64_t> dropped_{0};
  std::thread thread_;

  std::mutex mutex_;               // guards the members below
  std::condition_variable wake_;   // lines, or the stop
  std::condition_variable retry_;  // the stop
  std::condition_variable ended_;
  std::optional<Outage> outage_;
  std::deque<Chunk> queue_;
  Chunk spare_;
  std::size_t waiting_ = 0;  // bytes in queue_
  bool idle_ = false;
  bool stopping_ = false;
  bool last_attempt_ = false;  // the thread has seen that it stops
  bool give_up_ = false;
  bool done_ = false;
};

LineWriter::LineWriter(int fd, std::size_t capacity)
    : LineWriter(std::make_unique<DescriptorSink>(fd), std::nullopt, capacity) {}

LineWriter::LineWriter(std::unique_ptr<LineSink> sink, std::optional<Outage> outage, std::size_t capacity)
    : shared_(std::make_shared<Shared>(std::move(sink), outage, capacity)) {
  shared_->start(shared_);
}

LineWriter::~LineWriter() { stop(); }

void LineWriter::append(std::string_view line) { shared_->append(line); }
void LineWriter::stop(std::chrono::milliseconds patience) { shared_->stop(patience); }
std::uint64_t LineWriter::dropped() const { return shared_->dropped(); }

}  // namespace sluice::telemetry
