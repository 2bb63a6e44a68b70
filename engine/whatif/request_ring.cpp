#include "engine/whatif/request_ring.hpp"

#include <algorithm>
#include <cstring>

#include "common/sync/whatif.hpp"

namespace sluice::whatif {
namespace {

std::int64_t minute_of(std::int64_t at_us) { return at_us / sync::kMinuteUs; }

std::size_t first_probe(std::uint64_t tenant, std::int64_t minute) {
  return static_cast<std::size_t>((tenant ^ static_cast<std::uint64_t>(minute)) * 0x9E3779B97F4A7C15U >> 32U);
}

}  // namespace

RequestRing::RequestRing(std::size_t bytes) : memory_(std::max(bytes, kMinBytes) / 8 * 8) {}

void RequestRing::record(RecordHead head, const CheckRequest& request) {
  const std::size_t bytes = record_bytes(request);
  head.bytes = static_cast<std::uint32_t>(bytes);
  const std::lock_guard lock(mutex_);
  if (bytes > kMaxRecordBytes) return count_gone(head);
  make_room(bytes);
  write_record(head, request, {place(head_), bytes});
  head_ += bytes;
}

// A record is at most kMaxRecordBytes, so few fall out for one.
void RequestRing::make_room(std::size_t bytes) {
  const std::size_t before_end = room_before_end(head_);
  const std::size_t filler = before_end < bytes ? before_end : 0;
  while (head_ + filler + bytes - tail_ > memory_.size()) drop_oldest();
  if (filler == 0) return;
  // Less than a head may be left: then a reader finds that out by itself.
  if (filler >= sizeof(RecordHead)) std::memset(place(head_), 0, sizeof(RecordHead));
  head_ += filler;
}

void RequestRing::drop_oldest() {
  const std::size_t before_end = room_before_end(tail_);
  const RecordHead head = before_end < sizeof(RecordHead) ? RecordHead{} : read_head(place(tail_));
  if (head.bytes == 0) {
    tail_ += before_end;
    return;
  }
  count_gone(head);
  tail_ += head.bytes;
}

void RequestRing::count_gone(const RecordHead& head) {
  const std::int64_t minute = minute_of(head.at_us);
  const std::size_t first = first_probe(head.tenant, minute);
  Gone* oldest = nullptr;
  for (std::size_t i = 0; i < kProbes; ++i) {
    Gone& gone = gone_[(first + i) % kGone];
    const bool same = gone.requests > 0 && gone.tenant == head.tenant && gone.minute == minute;
    if (same || gone.requests == 0) {
      gone = {.tenant = head.tenant,
              .minute = minute,
              .requests = gone.requests + 1,
              .newest_us = std::max(gone.newest_us, head.at_us)};
      return;
    }
    if (oldest == nullptr || gone.minute < oldest->minute) oldest = &gone;
  }
  forgotten_us_ = std::max(forgotten_us_, oldest->newest_us);
  *oldest = {.tenant = head.tenant, .minute = minute, .requests = 1, .newest_us = head.at_us};
}

Fallen RequestRing::fallen(std::uint64_t tenant, std::int64_t from_us, std::int64_t to_us) const {
  const std::lock_guard lock(mutex_);
  Fallen fallen{.requests = 0, .newest_us = forgotten_us_};
  for (const Gone& gone : gone_) {
    if (gone.requests == 0 || gone.tenant != tenant) continue;
    fallen.newest_us = std::max(fallen.newest_us, gone.newest_us);
    if (gone.minute >= minute_of(from_us) && gone.minute <= minute_of(to_us - 1)) fallen.requests += gone.requests;
  }
  return fallen;
}

std::uint64_t RequestRing::end() const {
  const std::lock_guard lock(mutex_);
  return head_;
}

// Copies the next records before `end`, and moves `position` behind them. Returns false if there are none.
bool RequestRing::copy_piece(std::uint64_t& position, std::uint64_t end, std::vector<char>& piece) const {
  piece.resize(kPieceBytes);
  std::size_t used = 0;
  const std::lock_guard lock(mutex_);
  position = std::max(position, tail_);
  while (position < end) {
    const std::size_t before_end = room_before_end(position);
    const RecordHead head = before_end < sizeof(RecordHead) ? RecordHead{} : read_head(place(position));
    if (head.bytes == 0) {
      position += before_end;
      continue;
    }
    if (used + head.bytes > kPieceBytes) break;
    std::memcpy(piece.data() + used, place(position), head.bytes);
    used += head.bytes;
    position += head.bytes;
  }
  piece.resize(used);
  return used > 0;
}

void RequestRing::copy(std::uint64_t tenant, std::int64_t from_us, std::int64_t to_us, std::vector<char>& out) const {
  const std::uint64_t last = end();  // what is recorded from now on is not read: a reader always comes to its end
  std::uint64_t position = 0;
  std::vector<char> piece;
  while (copy_piece(position, last, piece)) {
    for (std::size_t at = 0; at < piece.size();) {
      const RecordHead head = read_head(piece.data() + at);
      if (head.tenant == tenant && head.at_us >= from_us && head.at_us < to_us) {
        const auto begin = piece.begin() + static_cast<std::ptrdiff_t>(at);
        out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(head.bytes));
      }
      at += head.bytes;
    }
  }
}

}  // namespace sluice::whatif
