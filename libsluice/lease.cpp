#include <utility>

#include "libsluice/decision_of.hpp"
#include "sluice/engine.hpp"

namespace sluice::v1 {

Lease::Lease(Engine& engine, std::string tenant, std::string id) noexcept
    : engine_(&engine), tenant_(std::move(tenant)), id_(std::move(id)) {}

Lease::Lease(Lease&& other) noexcept
    : engine_(std::exchange(other.engine_, nullptr)), tenant_(std::move(other.tenant_)), id_(std::move(other.id_)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  release();
  engine_ = std::exchange(other.engine_, nullptr);
  tenant_ = std::move(other.tenant_);
  id_ = std::move(other.id_);
  return *this;
}

Lease::~Lease() { release(); }

Status Lease::release() noexcept {
  Engine* const engine = std::exchange(engine_, nullptr);
  return engine != nullptr ? engine->release(tenant_, id_) : Status();
}

Status Lease::renew() noexcept {
  if (engine_ != nullptr) return engine_->renew(tenant_, id_);
  try {
    return {Code::unknown_lease, "lease: this object has none: it is new, moved from, released or detached"};
  } catch (...) {
    return lib::out_of_memory();
  }
}

std::string Lease::detach() noexcept {
  engine_ = nullptr;
  return std::move(id_);
}

}  // namespace sluice::v1
