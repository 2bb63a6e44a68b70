#include "common/redis/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace sluice::redis {

void Pipeline::sent(Command& command, TimePoint now, TimePoint answer_by) {
  slots_.push_back({.command = &command, .sent_at = now, .answer_by = answer_by});
  ++last_write_;
  ++live_;
  next_event_ = std::min(next_event_, answer_by);  // next_event_ is then never later than silence_deadline()
}

Command* Pipeline::take_back() {
  while (last_write_ > 0) {
    Command* const command = slots_[slots_.size() - 1].command;
    slots_.truncate(slots_.size() - 1);
    --last_write_;
    if (command == nullptr) continue;
    --live_;
    return command;
  }
  return nullptr;
}

Result<> Pipeline::feed(std::string_view bytes, TimePoint now) {
  heard_at_ = now;
  reader_.feed(bytes);
  const std::uint64_t connection = connection_;
  while (connection == connection_) {
    const Result<const Reply*> reply = reader_.next();
    if (!reply) return std::unexpected(reply.error());
    if (*reply == nullptr) break;
    if (slots_.empty()) return failure("protocol", "the server sent a reply without a command");
    // The slot is removed before on_reply(), in which the receiver may send a command or end the connection.
    const Slot slot = slots_.pop_front();
    last_write_ = std::min(last_write_, slots_.size());
    fastest_ = std::min<Duration>(fastest_, now - slot.sent_at);
    if (slot.command == nullptr) continue;
    --live_;
    receiver_.on_reply(*slot.command, **reply);
  }
  return {};
}

bool Pipeline::expire(TimePoint now) {
  next_event_ = owed() > 0 ? silence_deadline() : TimePoint::max();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.command == nullptr) continue;
    if (slot.answer_by <= now) {
      abandon(slot, FailureKind::timeout);
    } else {
      next_event_ = std::min(next_event_, slot.answer_by);
    }
  }
  return owed() == 0 || silence_deadline() > now;
}

// Silence before the oldest command was sent does not count, because a server that owes nothing may be silent.
Pipeline::TimePoint Pipeline::silence_deadline() const {
  const Slot& oldest = slots_[0];
  return std::max(std::max(oldest.sent_at, heard_at_) + max_silence_, oldest.answer_by);
}

void Pipeline::disconnect(FailureKind kind) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].command != nullptr) abandon(slots_[i], kind);
  }
  slots_.truncate(0);
  last_write_ = 0;
  ++connection_;
  reader_.reset();
}

void Pipeline::abandon(Slot& slot, FailureKind kind) {
  --live_;
  receiver_.on_no_reply(*std::exchange(slot.command, nullptr), kind);
}

}  // namespace sluice::redis
