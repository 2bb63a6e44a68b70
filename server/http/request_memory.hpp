// One budget of memory for all requests in flight (--request-memory). A request sets memory aside before its body is
// read, raises its share when its real weight is known, and gives it back when its answer is sent.
//
// Requests above kSmall leave a quarter of the budget to the others, so that large bodies never keep out small ones.
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/http/message.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::http {

class RequestMemory {
 public:
  static constexpr std::size_t kSmall = 1UL << 20;  // bytes

  // Bytes. REQUIRES: the budget outlives all shares.
  explicit RequestMemory(std::size_t limit) : limit_(limit) {}
  RequestMemory(const RequestMemory&) = delete;

  // What one request has set aside. Belongs to one thread at a time.
  class Share {
   public:
    explicit Share(RequestMemory& memory) : memory_(memory) {}
    Share(const Share&) = delete;
    ~Share() { memory_.used_.fetch_sub(bytes_, std::memory_order_relaxed); }

    // Throws Refusal, and keeps what it has: 413 if one request never gets so much, 503 if others have it now.
    void raise_to(std::size_t bytes);
    void lower_to(std::size_t bytes);
    std::size_t bytes() const { return bytes_; }

   private:
    RequestMemory& memory_;
    std::size_t bytes_ = 0;
  };
  using SharePtr = std::shared_ptr<Share>;

  SharePtr share() { return std::make_shared<Share>(*this); }  // of 0 bytes

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::size_t limit_for(std::size_t bytes) const { return bytes <= kSmall ? limit_ : limit_ / 4 * 3; }
  bool take(std::size_t more, std::size_t limit);

  const std::size_t limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::uint64_t> refused_{0};
};

// The length that the head of a request states, in bytes; 0 for a chunked body. REQUIRES: the request has a body.
std::size_t announced_bytes(const sluice::http::Request& head);

// What a body weighs until it is read: the buffer that it arrives in, and the copy that its handler keeps.
constexpr std::size_t weight_unread(std::size_t bytes) { return 3 * bytes; }

// The most memory that a body takes while it is read, compiled and stored, in bytes. It grows with the text and with
// the number of its values, because `[0,0,0]` needs far more memory for its text than one long string.
std::size_t weight_of_json(std::string_view body);
std::size_t weight_of_yaml(std::string_view body);

}  // namespace sluice::server::http
