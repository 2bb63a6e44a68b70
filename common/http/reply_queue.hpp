// The replies of one connection: given in any order, sent in the order of their requests.
//
// Thread safety: none; no I/O.
// Invariants: a slot is opened once per request, in request order, and answered at most once. The reply of the oldest
// slot goes straight to the output; one that comes too early waits in its slot. Behind a reply that closes the
// connection nothing is ever output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/message.hpp"
#include "common/http/response_writer.hpp"

namespace sluice::http {

class ReplyQueue {
 public:
  std::uint64_t open(ReplyShape shape);

  // `out` gets this reply and those that waited for it. `last_closes`: the reply to the newest request says that the
  // connection closes. Answers to slots that are not open are dropped.
  void answer(std::uint64_t slot, const Response& response, std::string_view date, bool last_closes, std::string& out);

  // Takes the newest slot back. REQUIRES: it was not answered.
  void withdraw() { --next_; }

  // "100 Continue", once all requests before it are answered.
  void announce_continue(std::string& out);

  std::size_t unanswered() const { return static_cast<std::size_t>(next_ - first_); }  // opened, not yet output
  bool closed() const { return closed_; }  // the reply that closes the connection is output
  void release_memory();                   // REQUIRES: unanswered() == 0

 private:
  struct Slot {
    ReplyShape shape;
    bool ready = false;
    std::string text;  // a reply that came before its turn
  };

  Slot& slot(std::uint64_t number) { return ring_[number & (ring_.size() - 1)]; }
  void grow();
  void pop_ready(std::string& out);

  std::vector<Slot> ring_;  // size: 0 or a power of two
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace sluice::http
