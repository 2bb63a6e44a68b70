// Any bytes as what a client of HTTP/2 sends after its preface: the gRPC layer over the session neither crashes nor
// keeps a stream that is closed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/grpc/dispatcher.hpp"
#include "common/grpc/health.hpp"
#include "common/http2/session.hpp"

namespace {

using namespace sluice;

struct Observer final : grpc::CallObserver {
  void ended(std::size_t, grpc::Code) override {}
};
struct NoAlarm final : grpc::Alarm {
  Time now() const override { return {}; }
  bool set(Time) noexcept override { return true; }
};
struct Owner final : http2::Session::Owner {
  void output_ready() noexcept override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Observer observer;
  Owner owner;
  grpc::HealthService health({});
  grpc::Service* services[] = {&health};
  NoAlarm alarm;
  grpc::Dispatcher dispatcher(services, observer, alarm);
  http2::SessionMemory memory;
  const http2::SessionLimits limits;
  http2::Session session(limits, dispatcher, memory, owner, {});
  std::string out;
  std::string in = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\0\0\0\4\0\0\0\0\0", 9);
  in.append(reinterpret_cast<const char*>(data), size);
  session.feed(in);
  session.pull(out, 1 << 20);
  dispatcher.on_tick();
  session.tick();
  session.drain();
  session.pull(out, 1 << 20);
  session.close();
  return 0;
}
