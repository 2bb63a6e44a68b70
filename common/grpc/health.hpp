// grpc.health.v1.Health: whether the services of this server answer. All services have one state.
//
// Thread safety: none; it belongs to its server's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "common/grpc/service.hpp"

namespace sluice::grpc {

class HealthService final : public Service {
 public:
  static constexpr std::string_view kName = "grpc.health.v1.Health";
  // Calls of Watch that are open. Further ones end with RESOURCE_EXHAUSTED.
  static constexpr std::size_t kMaxWatches = 10'000;

  static std::span<const Method> method_table();

  // `services`: the names that may be asked for; "" is always one, the whole server.
  explicit HealthService(std::vector<std::string_view> services);
  ~HealthService() override;

  void set_serving(bool serving);  // tells those who watch

  std::string_view name() const override { return kName; }
  std::span<const Method> methods() const override { return method_table(); }
  bool is_traced() const override { return false; }
  void handle(std::size_t method, std::span<char> message, Reply reply) override;

 private:
  enum class State : std::uint8_t { serving = 1, not_serving = 2, service_unknown = 3 };
  class Watch;
  struct Watcher : boost::intrusive::list_base_hook<> {
    virtual void tell(State state) = 0;
    virtual void end() = 0;  // destroys it

   protected:
    ~Watcher() = default;
  };

  State state_of(std::string_view service) const;
  void watch(State state, bool known, Reply reply);

  std::vector<std::string_view> services_;
  State state_ = State::not_serving;
  boost::intrusive::list<Watcher> watches_;
};

}  // namespace sluice::grpc
