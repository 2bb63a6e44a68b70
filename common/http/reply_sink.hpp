// Where a Reply goes: a connection, or what a test puts in its place.
//
// Thread safety: none; all references to one sink live on one thread, so the count is a plain number.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/http/message.hpp"
#include "common/http/stream.hpp"

namespace sluice::http {

class ReplySink {
 public:
  ReplySink() = default;
  ReplySink(const ReplySink&) = delete;
  ReplySink& operator=(const ReplySink&) = delete;

  // The one answer to the request of `slot`. Must copy what it keeps; may be called after the peer is gone.
  virtual void answer(std::uint64_t slot, const Response& response) = 0;

  // The body of the request that was asked about, under `slot`, shall be read. Only who asks needs it.
  virtual void read_body(std::uint64_t) {}

  // What a Stream does (stream.hpp). A sink that has none answers with the head and what of the body comes with it.
  virtual bool begin_stream(std::uint64_t slot, const Response& head, StreamEvents&) {
    answer(slot, head);
    return false;
  }
  virtual bool stream_open(std::uint64_t) const { return false; }
  virtual bool write_stream(std::uint64_t, std::string_view) { return false; }
  // The last call for `slot`: its StreamEvents may be gone.
  virtual void end_stream(std::uint64_t, bool /*whole*/) {}

  void retain() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) unreferenced();
  }

 protected:
  ~ReplySink() = default;

 private:
  // The last reference is gone; the sink may delete itself.
  virtual void unreferenced() noexcept = 0;

  std::uint32_t references_ = 0;
};

inline void intrusive_ptr_add_ref(ReplySink* sink) noexcept { sink->retain(); }
inline void intrusive_ptr_release(ReplySink* sink) noexcept { sink->release(); }

}  // namespace sluice::http
