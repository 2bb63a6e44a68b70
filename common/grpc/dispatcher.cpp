#include "common/grpc/dispatcher.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace sluice::grpc {

std::vector<std::string> method_labels(std::span<const ServiceTable> services) {
  std::vector<std::string> labels;
  for (const ServiceTable& service : services) {
    for (const Method& method : service.methods) labels.push_back(fmt::format("{}/{}", service.name, method.name));
  }
  labels.emplace_back("other");
  return labels;
}

Dispatcher::Dispatcher(std::span<Service* const> services, CallObserver& observer, Alarm& alarm,
                       tracing::Tracer* tracer)
    : observer_(observer), alarm_(alarm), tracer_(tracer), deadlines_(alarm) {
  for (Service* service : services) {
    for (std::size_t i = 0; i < service->methods().size(); ++i) {
      routes_.push_back(
          {fmt::format("/{}/{}", service->name(), service->methods()[i].name), service, i, routes_.size()});
    }
  }
  std::ranges::sort(routes_, {}, &Route::path);
}

Dispatcher::~Dispatcher() = default;

const Dispatcher::Route* Dispatcher::find(std::string_view path) const {
  const auto found =
      std::ranges::lower_bound(routes_, path, {}, [](const Route& route) -> std::string_view { return route.path; });
  return found != routes_.end() && found->path == path ? &*found : nullptr;
}

void Dispatcher::on_request(http2::Stream& stream) {
  Call& call = pool_.take(*this);
  call.retain();  // for the stream
  open_.push_back(call);
  call.begin(stream);
}

void Dispatcher::on_tick() {
  ++tick_;
  deadlines_.on_tick(alarm_.now());
  for (auto it = open_.begin(); it != open_.end();) {
    const boost::intrusive_ptr<Call> call(&*it++);  // tick() may close others, but none of this list
    call->tick(tick_);
  }
}

void Dispatcher::drain() {
  draining_ = true;
  for (auto it = open_.begin(); it != open_.end();) {
    const boost::intrusive_ptr<Call> call(&*it++);
    call->drain();
  }
}

}  // namespace sluice::grpc
