// The bytes that one connection still has to send: its own texts, and bodies that it shares with other connections.
// Bytes leave in the order in which they were added.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/message.hpp"

namespace sluice::http {

class Output {
 public:
  // The most bytes of a shared body in one write, so that other connections get their turn.
  static constexpr std::size_t kSlice = 256UL * 1024;
  static constexpr std::size_t kCopied = 16UL * 1024;  // shared bodies up to this size are copied, to save a write

  // For appending. REQUIRES: the reference is not kept.
  std::string& text() { return appended_; }
  void append(const SharedBody& body);

  // The next bytes to send. They stay at their address until all of them are consumed, so replies may be added while a
  // write is under way. REQUIRES: not empty().
  std::string_view next();
  void consume(std::size_t bytes);

  std::size_t size() const { return queued_bytes_ + appended_.size() + sending_.size() - sent_; }
  bool empty() const { return size() == 0; }
  std::size_t capacity() const;  // bytes of memory, without shared bodies
  void release_memory();         // drops all output. REQUIRES: no write is under way

 private:
  struct Piece {
    std::string text;
    SharedBody body;  // if set, `text` is empty

    std::string_view view() const { return body ? std::string_view(*body) : std::string_view(text); }
    std::size_t size() const { return view().size(); }
  };

  std::vector<Piece> queue_;  // between sending_ and appended_
  Piece sending_;
  std::size_t sent_ = 0;          // bytes of sending_
  std::size_t queued_bytes_ = 0;  // bytes in queue_
  std::string appended_;
};

}  // namespace sluice::http
