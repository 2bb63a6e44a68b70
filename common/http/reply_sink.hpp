// The receiver of the answers that handlers give through Reply, Stream and Admission: a connection, or a test double. A
// slot is the number of one request on its connection.
//
// Thread safety: none; the reference count is not atomic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/http/message.hpp"
#include "common/http/peer_watcher.hpp"
#include "common/http/stream.hpp"

namespace sluice::http {

class ReplySink {
 public:
  ReplySink() = default;
  ReplySink(const ReplySink&) = delete;
  ReplySink& operator=(const ReplySink&) = delete;

  // Must copy what it keeps. May be called after the peer is gone.
  virtual void answer(std::uint64_t slot, const Response& response) = 0;

  virtual bool watch_peer(std::uint64_t, PeerWatcher&) { return true; }

  // Only sinks that create Admissions override it, and keep `held`. NOLINTNEXTLINE(performance-unnecessary-value-param)
  virtual void read_body(std::uint64_t, std::shared_ptr<void> /*held*/, std::size_t /*limit*/) {}

  // A Stream (stream.hpp) calls these functions. A sink without streams sends `head` as the whole answer.
  virtual bool begin_stream(std::uint64_t slot, const Response& head, StreamEvents&) {
    answer(slot, head);
    return false;
  }
  virtual bool stream_open(std::uint64_t) const { return false; }
  virtual bool write_stream(std::uint64_t, std::string_view) { return false; }
  // The last call for the slot. The StreamEvents may be destroyed by then, so do not call them.
  virtual void end_stream(std::uint64_t, bool /*whole*/) {}

  void retain() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) unreferenced();
  }

 protected:
  ~ReplySink() = default;

 private:
  // The sink may delete itself.
  virtual void unreferenced() noexcept = 0;

  std::uint32_t references_ = 0;
};

inline void intrusive_ptr_add_ref(ReplySink* sink) noexcept { sink->retain(); }
inline void intrusive_ptr_release(ReplySink* sink) noexcept { sink->release(); }

}  // namespace sluice::http
