#include "common/grpc/health.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace sluice::grpc {
namespace {

enum : std::size_t { kCheck, kWatch };
constexpr auto kHealthMethods = std::to_array<Method>(
    {{.name = "Check", .max_message = 1024}, {.name = "Watch", .max_message = 1024, .server_streams = true}});

std::string response(std::uint8_t state) {
  std::string message;
  protozero::pbf_writer(message).add_enum(1, state);
  return message;
}

}  // namespace

// One call of Watch. Owns itself until the call is over.
class HealthService::Watch final : public CallListener, public Watcher {
 public:
  Watch(HealthService& owner, Reply reply, bool known) : owner_(owner), reply_(std::move(reply)), known_(known) {}

  bool listen() { return reply_.listen(*this); }
  void tell(State state) override {
    if (known_) reply_.send(response(static_cast<std::uint8_t>(state)));
  }
  void first(State state) { reply_.send(response(static_cast<std::uint8_t>(state))); }

  void on_over() override { end(); }
  void on_drain() override {  // the owner has told the state before
    reply_.finish({Code::unavailable, "The server stops."});
    end();
  }
  void end() override {
    owner_.watches_.erase(owner_.watches_.iterator_to(*this));
    delete this;
  }

 private:
  HealthService& owner_;
  Reply reply_;
  const bool known_;  // the service exists
};

HealthService::HealthService(std::vector<std::string_view> services) : services_(std::move(services)) {
  services_.push_back(kName);
}

HealthService::~HealthService() {
  while (!watches_.empty()) watches_.front().end();
}

std::span<const Method> HealthService::method_table() { return kHealthMethods; }

void HealthService::set_serving(bool serving) {
  const State state = serving ? State::serving : State::not_serving;
  if (std::exchange(state_, state) == state) return;
  for (Watcher& watch : watches_) watch.tell(state);
}

HealthService::State HealthService::state_of(std::string_view service) const {
  const bool known = service.empty() || std::ranges::find(services_, service) != services_.end();
  return known ? state_ : State::service_unknown;
}

void HealthService::handle(std::size_t method, std::span<char> message, Reply reply) {
  std::string_view service;
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (reader.tag_and_type() == protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited)) {
        const auto view = reader.get_view();
        service = {view.data(), view.size()};
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return reply.finish({Code::invalid_argument, "The message is no HealthCheckRequest."});
  }
  const State state = state_of(service);
  if (method == kWatch) return watch(state, state != State::service_unknown, std::move(reply));
  if (state == State::service_unknown) return reply.finish({Code::not_found, "There is no such service."});
  reply.finish(response(static_cast<std::uint8_t>(state)));
}

void HealthService::watch(State state, bool known, Reply reply) {
  if (watches_.size() >= kMaxWatches) return reply.finish({Code::resource_exhausted, "Too many calls watch."});
  auto made = std::make_unique<Watch>(*this, std::move(reply), known);
  if (!made->listen()) return;
  watches_.push_back(*made);
  made.release()->first(state);
}

}  // namespace sluice::grpc
