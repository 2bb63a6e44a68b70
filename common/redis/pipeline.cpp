#include "common/redis/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sluice::redis {
namespace {

constexpr std::size_t kFeedBytes = 4096;                  // given to the reader at once, see ReplyReader::feed
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;  // buffers that a burst grew above this are freed

void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBytes) buffer.shrink_to_fit();
}

}  // namespace

CommandWriter& Pipeline::begin(ReplyHandler& handler, TimePoint deadline) {
  // The caller must have written the command before this one.
  assert(slots_.size() == sent_ || slots_[slots_.size() - 1].offset < waiting_.size());
  slots_.push_back({.handler = &handler, .deadline = deadline, .sent_at = {}, .offset = waiting_.size()});
  ++live_;
  next_event_ = std::min(next_event_, deadline);
  return writer_;
}

CommandWriter& Pipeline::refuse(ReplyHandler& handler, FailureKind kind) {
  clear(refused_);
  failures_.push_back({&handler, {kind, false}});
  ++failures_added_;
  return refused_writer_;
}

bool Pipeline::take_output(std::string& out, TimePoint now) {
  if (sent_ == slots_.size()) return false;
  batch_ = slots_.size() - sent_;
  for (; sent_ < slots_.size(); ++sent_) slots_[sent_].sent_at = now;
  clear(out);
  out.swap(waiting_);
  next_event_ = std::min(next_event_, silence_deadline());
  return true;
}

void Pipeline::put_back_output(std::string& out) {
  for (std::size_t i = sent_; i < slots_.size(); ++i) slots_[i].offset += out.size();
  out.append(waiting_);
  waiting_.swap(out);
  clear(out);
  sent_ -= batch_;
  batch_ = 0;
  drop_abandoned_waiting();
}

Result<> Pipeline::feed(std::string_view bytes, TimePoint now) {
  heard_at_ = now;
  const std::uint64_t connection = connection_;
  while (!bytes.empty() && connection == connection_) {
    const std::string_view part = bytes.substr(0, kFeedBytes);
    bytes.remove_prefix(part.size());
    reader_.feed(part);
    if (Result<> result = deliver(); !result) return result;
  }
  return {};
}

Result<> Pipeline::deliver() {
  const std::uint64_t connection = connection_;
  while (connection == connection_) {
    const Result<const Reply*> reply = reader_.next();
    if (!reply) return std::unexpected(reply.error());
    if (*reply == nullptr) break;
    if (sent_ == 0) return failure("protocol", "the server sent a reply without a command");
    // Remove the slot before the call: the handler may begin the next command, or end the connection.
    const Slot slot = slots_.pop_front();
    --sent_;
    batch_ = std::min(batch_, sent_);
    if (slot.handler == nullptr) continue;
    --live_;
    ++(is_unable(**reply) ? outcomes_.failed : outcomes_.succeeded);
    slot.handler->on_reply(**reply);
  }
  return {};
}

bool Pipeline::expire(TimePoint now) {
  bool overdue_waiting = false;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.handler == nullptr || slot.deadline > now) continue;
    abandon(slot, {FailureKind::timeout, i < sent_});
    overdue_waiting |= i >= sent_;
  }
  if (overdue_waiting) drop_abandoned_waiting();

  next_event_ = sent_ > 0 ? silence_deadline() : TimePoint::max();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].handler != nullptr) next_event_ = std::min(next_event_, slots_[i].deadline);
  }
  return sent_ == 0 || silence_deadline() > now;
}

// When the connection counts as dead if no byte arrives until then: never before the oldest command's own deadline. A
// server that was owed nothing may have been silent for long.
Pipeline::TimePoint Pipeline::silence_deadline() const {
  const Slot& oldest = slots_[0];
  return std::max(std::max(oldest.sent_at, heard_at_) + max_silence_, oldest.deadline);
}

void Pipeline::disconnect(FailureKind kind) {
  for (std::size_t i = 0; i < sent_; ++i) {
    if (slots_[i].handler != nullptr) abandon(slots_[i], {kind, true});
  }
  slots_.drop_front(sent_);
  sent_ = 0;
  batch_ = 0;
  ++connection_;
  reader_.reset();
}

void Pipeline::fail_waiting(FailureKind kind) {
  for (std::size_t i = sent_; i < slots_.size(); ++i) abandon(slots_[i], {kind, false});
  slots_.truncate(sent_);
  clear(waiting_);
}

void Pipeline::abandon(Slot& slot, Failure failure) {
  if (failure.executed_unknown) ++outcomes_.failed;
  failures_.push_back({slot.handler, failure});
  ++failures_added_;
  slot.handler = nullptr;
  --live_;
}

// Removes abandoned commands that were not sent, with their bytes.
void Pipeline::drop_abandoned_waiting() {
  std::size_t kept = sent_;
  std::size_t size = 0;
  for (std::size_t i = sent_; i < slots_.size(); ++i) {
    if (slots_[i].handler == nullptr) continue;
    const std::size_t begin = slots_[i].offset;
    const std::size_t end = i + 1 < slots_.size() ? slots_[i + 1].offset : waiting_.size();
    std::memmove(waiting_.data() + size, waiting_.data() + begin, end - begin);
    slots_[kept] = slots_[i];
    slots_[kept++].offset = size;
    size += end - begin;
  }
  slots_.truncate(kept);
  waiting_.resize(size);
}

void Pipeline::report_failures() {
  // Stops at a count instead of "until empty", because a handler may begin another command that fails at once. A
  // handler may also call report_failures() itself, by stopping the client: then nothing is left for this loop.
  const std::uint64_t end = failures_added_;
  while (failures_reported_ < end) {
    const PendingFailure next = failures_.pop_front();
    ++failures_reported_;
    next.handler->on_failure(next.failure);
  }
}

}  // namespace sluice::redis
