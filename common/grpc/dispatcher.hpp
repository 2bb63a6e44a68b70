// Finds the method of each call, and keeps the calls that are open: their deadlines and their memory.
//
// Thread safety: none; it belongs to its server's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "common/base/pool.hpp"
#include "common/grpc/call.hpp"
#include "common/grpc/deadlines.hpp"
#include "common/grpc/service.hpp"
#include "common/http/host.hpp"
#include "common/http2/session.hpp"

namespace sluice::grpc {

// Receives the outcome of each call.
class CallObserver {
 public:
  // `label`: an index into method_labels(), for the services in the order of the Dispatcher's.
  virtual void ended(std::size_t label, Code code) = 0;

 protected:
  ~CallObserver() = default;
};

// The methods of one service, before there is one.
struct ServiceTable {
  std::string_view name;
  std::span<const Method> methods;
};

// "sluice.v1.Decisions/Check" for each method, in the order of services and methods; then "other", for calls of a
// method that nobody has.
std::vector<std::string> method_labels(std::span<const ServiceTable> services);

class Dispatcher final : public http2::Handler {
 public:
  // Bytes of messages that are not complete or not handled yet, of all connections together.
  static constexpr std::size_t kMaxBuffered = 64UL << 20;

  // All references outlive the dispatcher. No two services have the same name.
  // `tracer`: nullptr if calls are not traced.
  Dispatcher(std::span<Service* const> services, CallObserver& observer, Alarm& alarm,
             tracing::Tracer* tracer = nullptr);
  ~Dispatcher();

  void on_request(http2::Stream& stream) override;
  void on_tick() override;
  void on_alarm(Alarm::Time now) { deadlines_.on_alarm(now); }
  void drain();  // tells all calls, also those that begin later

 private:
  friend class Call;

  struct Route {
    std::string path;
    Service* service;
    std::size_t method;
    std::size_t label;
  };

  const Route* find(std::string_view path) const;

  std::vector<Route> routes_;  // sorted by path
  CallObserver& observer_;
  Alarm& alarm_;
  tracing::Tracer* const tracer_;
  Deadlines deadlines_;
  Pool<Call> pool_;
  boost::intrusive::list<Call, boost::intrusive::constant_time_size<false>> open_;
  std::size_t buffered_ = 0;
  http::Ticks tick_ = 0;
  bool draining_ = false;
  std::string message_;  // scratch: the value of grpc-message
  std::string details_;  // scratch: the value of grpc-status-details-bin
};

}  // namespace sluice::grpc
