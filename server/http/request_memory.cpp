#include "server/http/request_memory.hpp"

#include <charconv>

#include <fmt/core.h>

namespace sluice::server::http {
namespace {

// Bytes of memory for each byte of a body, and for each of its values by the character before or behind it. Measured as
// the resident memory of a server that validates and applies bundles of policies, faulty objects, and arrays of zeros.
// Separators within strings count too, which is only too careful.
struct Weights {
  std::size_t blank, byte, object, array, item, line;
};
constexpr Weights kJson{.blank = 3, .byte = 8, .object = 400, .array = 60, .item = 60, .line = 0};
constexpr Weights kYaml{.blank = 3, .byte = 8, .object = 600, .array = 400, .item = 300, .line = 300};

std::size_t weigh(std::string_view body, const Weights& weights) {
  std::size_t sum = 0;
  for (const char c : body) {
    sum += c == ' '               ? weights.blank
           : c == ',' || c == ':' ? weights.byte + weights.item
           : c == '{'             ? weights.byte + weights.object
           : c == '['             ? weights.byte + weights.array
           : c == '\n'            ? weights.byte + weights.line
                                  : weights.byte;
  }
  return sum;
}

constexpr std::size_t to_mib(std::size_t bytes) { return (bytes + (1UL << 20) - 1) >> 20; }

}  // namespace

bool RequestMemory::take(std::size_t more, std::size_t limit) {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used > limit || more > limit - used) return false;
  } while (!used_.compare_exchange_weak(used, used + more, std::memory_order_relaxed));
  return true;
}

void RequestMemory::Share::raise_to(std::size_t bytes) {
  if (bytes <= bytes_) return;
  const std::size_t limit = memory_.limit_for(bytes);
  if (bytes <= limit && memory_.take(bytes - bytes_, limit)) {
    bytes_ = bytes;
    return;
  }
  memory_.refused_.fetch_add(1, std::memory_order_relaxed);
  if (bytes > limit) {
    throw Refusal(413, "body-too-large",
                  fmt::format("This request needs about {} MiB of memory, and one request gets at most {} MiB of the "
                              "server's --request-memory. Nothing was changed. Send it in parts, or raise "
                              "--request-memory.",
                              to_mib(bytes), limit >> 20));
  }
  throw Refusal(503, "overload",
                fmt::format("This request needs about {} MiB of memory, which other requests use now. Nothing was "
                            "changed; try again.",
                            to_mib(bytes)),
                {}, "Retry-After: 1\r\n");
}

void RequestMemory::Share::lower_to(std::size_t bytes) {
  if (bytes >= bytes_) return;
  memory_.used_.fetch_sub(bytes_ - bytes, std::memory_order_relaxed);
  bytes_ = bytes;
}

std::size_t announced_bytes(const sluice::http::Request& head) {
  const std::string_view text = head.header("content-length");
  std::size_t bytes = 0;
  std::from_chars(text.data(), text.data() + text.size(), bytes);
  return bytes;
}

std::size_t weight_of_json(std::string_view body) { return weigh(body, kJson); }
std::size_t weight_of_yaml(std::string_view body) { return weigh(body, kYaml); }

}  // namespace sluice::server::http
