#include "common/telemetry/line_writer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace sluice::telemetry {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{16} << 10;
constexpr int kPollMs = 20;  // between two checks of give_up_

struct Chunk {
  std::string bytes;
  std::uint64_t lines = 0;
};

// The next part of `text` to write, cut after a whole line if one fits. A pipe that poll() reports as ready has room
// for PIPE_BUF bytes, so writing this part does not block.
std::string_view next_write(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text;
  text = text.substr(0, PIPE_BUF);
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

}  // namespace

class LineWriter::Shared {
 public:
  Shared(int fd, std::size_t capacity) : fd_(fd), capacity_(capacity) {}

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
    if (!ended_.wait_for(lock, patience, [&] { return done_; })) {
      give_up_.store(true, std::memory_order_relaxed);
      ended_.wait_for(lock, std::chrono::milliseconds(10 * kPollMs), [&] { return done_; });
    }
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
    idle_ = true;
    wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    idle_ = false;
    if (queue_.empty() || give_up_.load(std::memory_order_relaxed)) return std::nullopt;
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
    while (!rest.empty() && ready()) {
      const std::string_view part = next_write(rest);
      const ssize_t written = ::write(fd_, part.data(), part.size());
      if (written >= 0)
        rest.remove_prefix(static_cast<std::size_t>(written));
      else if (errno != EINTR && errno != EAGAIN)
        break;
    }
    // A line that was written in part counts as dropped.
    dropped_.fetch_add(static_cast<std::uint64_t>(std::ranges::count(rest, '\n')), std::memory_order_relaxed);
  }

  // Waits until the descriptor accepts bytes. Returns false to stop writing.
  bool ready() const {
    while (!give_up_.load(std::memory_order_relaxed)) {
      pollfd entry{.fd = fd_, .events = POLLOUT, .revents = 0};
      const int count = ::poll(&entry, 1, kPollMs);
      if (count > 0) return true;  // also on an error, which write() reports
      if (count < 0 && errno != EINTR) return false;
    }
    return false;
  }

  void drop_oldest() {
    dropped_.fetch_add(queue_.front().lines, std::memory_order_relaxed);
    waiting_ -= queue_.front().bytes.size();
    queue_.pop_front();
  }

  const int fd_;
  const std::size_t capacity_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<bool> give_up_{false};
  std::thread thread_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::deque<Chunk> queue_;
  Chunk spare_;
  std::size_t waiting_ = 0;  // bytes in queue_
  bool idle_ = false;
  bool stopping_ = false;
  bool done_ = false;
};

LineWriter::LineWriter(int fd, std::size_t capacity) : shared_(std::make_shared<Shared>(fd, capacity)) {
  shared_->start(shared_);
}
LineWriter::~LineWriter() { stop(); }

void LineWriter::append(std::string_view line) { shared_->append(line); }
void LineWriter::stop(std::chrono::milliseconds patience) { shared_->stop(patience); }
std::uint64_t LineWriter::dropped() const { return shared_->dropped(); }

}  // namespace sluice::telemetry
