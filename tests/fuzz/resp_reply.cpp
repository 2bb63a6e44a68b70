// Whatever a server sends: replies in order, a protocol failure, or patience; never a crash, and no handler forgotten.
// The first byte seeds how the rest is cut into pieces, and what happens between them.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/redis/handshake.hpp"
#include "common/redis/pipeline.hpp"

namespace {

using namespace sluice;
using namespace sluice::redis;

void require(bool condition) {
  if (!condition) std::abort();
}

std::size_t touch(const Reply& reply) {
  std::size_t sum = reply.text.size();
  for (const char c : reply.text) sum += static_cast<unsigned char>(c);
  for (const Reply& element : reply.elements) sum += touch(element);
  return sum + reply.error_code().size();
}

class Handler final : public ReplyHandler {
 public:
  void on_reply(const Reply& reply) override {
    require(pending);
    pending = false;
    sum += touch(reply);
  }
  void on_failure(Failure) override {
    require(pending);
    pending = false;
  }
  bool pending = false;
  std::size_t sum = 0;
};

// The same bytes in one piece and in many: the same outcome.
std::string outcome(std::string_view bytes, std::uint32_t seed) {
  std::string text;
  ReplyReader reader(65536);
  while (!bytes.empty()) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = seed == 0 ? bytes.size() : 1 + (seed >> 16) % 40;
    reader.feed(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
    for (;;) {
      const Result<const Reply*> reply = reader.next();
      if (!reply) return text + "!";
      if (*reply == nullptr) break;
      text += std::to_string(touch(**reply)) + ",";
    }
  }
  return text;
}

void drive_pipeline(std::string_view bytes, std::uint32_t seed) {
  Handler handlers[64];
  Pipeline pipeline(std::chrono::milliseconds(50), 65536);
  Pipeline::TimePoint now{std::chrono::seconds(1)};
  std::string out;
  while (!bytes.empty()) {
    for (Handler& handler : handlers) {
      if (handler.pending || (seed = seed * 1664525 + 1013904223) >> 30 != 0) continue;
      handler.pending = true;
      pipeline.begin(handler, now + std::chrono::milliseconds(1 + (seed >> 8) % 25)).array(1).bulk("PING");
    }
    if ((seed = seed * 1664525 + 1013904223) >> 31 != 0) pipeline.take_output(out, now);
    const std::size_t size = 1 + (seed >> 16) % 40;
    bool lost = !pipeline.feed(bytes.substr(0, size), now);
    bytes.remove_prefix(std::min(size, bytes.size()));
    now += std::chrono::milliseconds((seed >> 4) % 8);
    if (pipeline.next_event() <= now) lost |= !pipeline.expire(now);
    if (lost) pipeline.disconnect(FailureKind::protocol);
    pipeline.report_failures();
  }
  pipeline.disconnect(FailureKind::disconnected);
  pipeline.fail_waiting(FailureKind::disconnected);
  pipeline.report_failures();
  require(pipeline.in_flight() == 0);
  for (const Handler& handler : handlers) require(!handler.pending);
}

void drive_handshake(std::string_view bytes, std::uint32_t seed) {
  Handshake handshake({.user = "u", .password = "p", .database = 1, .client_name = "fuzz"});
  while (!bytes.empty()) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t size = 1 + (seed >> 16) % 100;
    const auto result = handshake.feed(bytes.substr(0, size));
    if (!result || *result) return;
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::uint32_t seed = data[0] * 2654435761U;
  require(outcome(bytes, seed + 1) == outcome(bytes, seed + 77));
  drive_pipeline(bytes, seed);
  drive_handshake(bytes, seed);
  return 0;
}
