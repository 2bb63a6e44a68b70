// What one connection still has to send: texts of its own, and bodies that it shares with other connections.
//
// Thread safety: none; no I/O.
// Invariants: everything leaves in the order it came. What next() returned stays where it is until consume() has taken
// all of it, whatever is added meanwhile; so a write may be under way while replies come.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/message.hpp"

namespace sluice::http {

class Output {
 public:
  static constexpr std::size_t kSlice = 256UL * 1024;  // of a shared body at once: others have their turn between
  static constexpr std::size_t kCopied = 16UL * 1024;  // a shared body up to this size is worth no write of its own

  // Append here what follows everything so far. REQUIRES: the reference is not kept.
  std::string& text() { return tail_; }
  void append(const SharedBody& body);

  // The next bytes to send. REQUIRES: not empty().
  std::string_view next();
  void consume(std::size_t bytes);  // that many of next() are sent

  std::size_t size() const { return shared_ + tail_.size() + sending_.size() - sent_; }
  bool empty() const { return size() == 0; }
  std::size_t capacity() const;  // bytes of memory of its own
  void release_memory();         // REQUIRES: nobody is sending; forgets what was to be sent

 private:
  struct Piece {
    std::string text;
    SharedBody body;  // instead of text, where set

    std::string_view view() const { return body ? std::string_view(*body) : std::string_view(text); }
    std::size_t size() const { return view().size(); }
  };

  std::vector<Piece> queue_;  // between sending_ and tail_; empty unless there are shared bodies
  Piece sending_;             // from sent_ on
  std::size_t sent_ = 0;
  std::size_t shared_ = 0;  // bytes in queue_
  std::string tail_;
};

}  // namespace sluice::http
