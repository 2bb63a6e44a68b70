// Whatever a server sends: replies in order, a protocol failure, or patience; never a crash, and no handler forgotten.
// The first byte seeds how the rest is cut into pieces, and what happens between them.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/redis/endpoint.hpp"
#include "common/redis/handshake.hpp"

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

class Ping final : public Command {
 public:
  void write(CommandWriter& out, CallBy) override { out.array(1).bulk("PING"); }
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

void drive_endpoint(std::string_view bytes, std::uint32_t seed) {
  using std::chrono::milliseconds;
  Ping commands[64];
  Endpoint endpoint({.deadline = milliseconds(25),
                     .queue_wait = milliseconds(5),
                     .batch_queue_wait = milliseconds(10),
                     .scripts = {},
                     .random = [] { return 0.5; }});
  Endpoint::TimePoint now{std::chrono::seconds(1)};
  std::string out;
  endpoint.opening();
  endpoint.opened();
  while (!bytes.empty()) {
    for (Ping& command : commands) {
      if (command.pending || (seed = seed * 1664525 + 1013904223) >> 30 != 0) continue;
      command.pending = true;
      const Patience patience = seed & 256 ? Patience::single : Patience::batch;
      endpoint.submit(command, {.flow = {(seed >> 9) % 3, (seed >> 12) % 3}, .patience = patience, .script = {}});
    }
    const bool writable = (seed = seed * 1664525 + 1013904223) >> 31 != 0;
    endpoint.turn(writable ? &out : nullptr, now);
    const std::size_t size = 1 + (seed >> 16) % 40;
    bool lost = !endpoint.feed(bytes.substr(0, size), now);
    bytes.remove_prefix(std::min(size, bytes.size()));
    now += milliseconds((seed >> 4) % 8);
    if (endpoint.next_event() <= now) lost |= !endpoint.expire(now);
    if (lost || endpoint.take_reconnect_wish()) {
      endpoint.lost(FailureKind::protocol, Endpoint::Phase::opening, now);
      endpoint.opened();
    }
    if (endpoint.next_probe() <= now) endpoint.probe();
    endpoint.report_failures();
  }
  endpoint.stop();
  endpoint.report_failures();
  require(endpoint.unfinished() == 0);
  for (const Ping& command : commands) require(!command.pending);
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
  drive_endpoint(bytes, seed);
  drive_handshake(bytes, seed);
  return 0;
}
