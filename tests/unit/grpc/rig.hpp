// A gRPC server without sockets: nghttp2 as its client, a service that is told what to do, and a clock that is set.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/grpc/dispatcher.hpp"
#include "tests/unit/http2/peer.hpp"

namespace sluice::grpc {

struct SetAlarm final : Alarm {
  Time now() const override { return time; }
  bool set(Time at) noexcept override {
    if (has_no_memory) return false;
    set_for = at;
    ++times_set;
    return true;
  }

  Time time{std::chrono::hours(1)};
  Time set_for{};
  int times_set = 0;
  bool has_no_memory = false;
};

struct Outcomes final : CallObserver {
  void ended(std::size_t label, Code code) override { all.emplace_back(label, code); }
  std::vector<std::pair<std::size_t, Code>> all;
};

// Echoes, keeps the reply, gives none, or talks.
class TestService final : public Service, private CallListener {
 public:
  enum : std::size_t { kEcho, kHold, kForget, kTalk };
  static constexpr std::size_t kMost = 100;

  std::string_view name() const override { return "test.Service"; }
  std::span<const Method> methods() const override {
    static constexpr auto kMethods =
        std::to_array<Method>({{.name = "Echo", .max_message = kMost},
                               {.name = "Hold", .max_message = kMost},
                               {.name = "Forget", .max_message = kMost},
                               {.name = "Talk", .max_message = kMost, .client_streams = true, .server_streams = true}});
    return kMethods;
  }
  void handle(std::size_t method, std::span<char> message, Reply reply) override {
    messages.emplace_back(message.data(), message.size());
    if (method == kForget) return;
    if (method == kEcho) return reply.finish(messages.back());
    held.emplace(std::move(reply));
    if (listens) held->listen(*this);
  }
  void open(std::size_t, Reply reply) override {
    held.emplace(std::move(reply));
    held->listen(*this);
  }

  std::vector<std::string> messages;
  std::optional<Reply> held;
  bool listens = true;
  bool half_closed = false;
  int drains = 0;
  int overs = 0;
  std::function<void()> on_each;

 private:
  void on_message(std::span<char> message) override {
    messages.emplace_back(message.data(), message.size());
    if (on_each) on_each();
  }
  void on_half_close() override { half_closed = true; }
  void on_drain() override { ++drains; }
  void on_over() override { ++overs; }
};

inline std::string framed(std::string_view message) {
  const auto prefix = prefix_of(message);
  return std::string(prefix.data(), prefix.size()).append(message);
}

class Rig {
 public:
  explicit Rig(const http2::SessionLimits& limits = {}) : pair(dispatcher, limits) {}
  ~Rig() { service.held.reset(); }  // before its dispatcher

  static http2::Headers headers(const std::string& method) {
    return {{":method", "POST"},    {":scheme", "http"}, {":path", "/test.Service/" + method},
            {":authority", "here"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  }
  // Returns the call's stream.
  std::int32_t ask(const std::string& method, const std::string& body, const http2::Headers& more = {},
                   bool ends = true) {
    http2::Headers all = headers(method);
    all.insert(all.end(), more.begin(), more.end());
    const std::int32_t id = pair.client.ask(all, body, ends);
    pair.exchange();
    return id;
  }
  std::int32_t call(const std::string& method, std::string_view message, const http2::Headers& more = {}) {
    return ask(method, framed(message), more);
  }
  http2::Got& got(std::int32_t id) {
    pair.exchange();
    return pair.client.got[id];
  }
  // "" while the call is open.
  std::string status(std::int32_t id) {
    const auto& headers = got(id).headers;
    const auto found = headers.find("grpc-status");
    return found != headers.end() ? std::string(found->second) : std::string();
  }
  std::string text(std::int32_t id) { return got(id).headers["grpc-message"]; }
  // Passes time; the alarm rings if it is due.
  void pass(std::chrono::milliseconds time) {
    alarm.time += time;
    if (alarm.set_for != Alarm::Time{} && alarm.set_for <= alarm.time) {
      alarm.set_for = {};
      dispatcher.on_alarm(alarm.time);
    }
  }

  TestService service;
  Outcomes outcomes;
  SetAlarm alarm;
  std::vector<Service*> services{&service};
  Dispatcher dispatcher{services, outcomes, alarm};
  http2::Pair pair;
};

}  // namespace sluice::grpc
