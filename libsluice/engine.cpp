// The functions of the public header: each hands its work on, and turns what is thrown into a Status.
#include "sluice/engine.hpp"

#include <exception>
#include <new>
#include <utility>

#include "common/base/version.hpp"
#include "common/domain/decision.hpp"
#include "common/limiter/lease_id.hpp"
#include "libsluice/decision_of.hpp"
#include "libsluice/impl.hpp"
#include "libsluice/options.hpp"

namespace sluice::v1 {
namespace {

constexpr std::string_view kUnknown = "unknown";  // of a number from a program that was compiled for a newer library

template <class Do>
Status guarded(Do run) noexcept {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return lib::out_of_memory();
  } catch (const std::exception& error) {
    return lib::system_refuses(error);
  } catch (...) {
    return lib::clock_failed();
  }
}

}  // namespace

std::string_view to_string(Action action) noexcept {
  return action <= Action::shadow_only ? sluice::to_string(static_cast<sluice::Action>(action)) : kUnknown;
}
std::string_view to_string(Reason reason) noexcept {
  return reason <= Reason::overload ? sluice::to_string(static_cast<sluice::Reason>(reason)) : kUnknown;
}
std::string_view version() noexcept { return sluice::version(); }

Engine::Engine(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Engine::~Engine() = default;

Engine::Opened Engine::open(Options options) noexcept {
  Opened opened;
  opened.status = guarded([&]() -> Status {
    if (Status status = lib::check_options(options); !status.ok()) return status;
    auto impl = std::make_unique<Impl>(std::move(options));
    if (Status status = impl->start(); !status.ok()) return status;
    opened.engine.reset(new Engine(std::move(impl)));
    return {};
  });
  return opened;
}

void Engine::check(const Request& request, Decision& decision) noexcept { impl_->check(request, decision); }

Decision Engine::check(const Request& request) noexcept {
  Decision decision;
  impl_->check(request, decision);
  return decision;
}

void Engine::check_batch(std::span<const Request> requests, std::span<Decision> decisions) noexcept {
  impl_->check_batch(requests, decisions);
}

void Engine::check_async(const Request& request, Callback callback) noexcept {
  guarded([&]() -> Status {
    impl_->check_async(request, std::move(callback));
    return {};
  });
}

void Engine::wait(const Request& request, Micros at_most, Decision& decision) noexcept {
  impl_->wait(request, at_most, decision);
}

// The tenant is that of the lease, also if an API key has said which.
Lease Engine::lease(const Request&, const Decision& decision) noexcept {
  Lease lease;
  if (decision.lease_id.empty()) return lease;
  guarded([&]() -> Status {
    auto decoded = limiter::decode_lease_id(decision.lease_id);
    if (decoded) lease = Lease(*this, std::move(decoded->tenant), decision.lease_id);
    return {};
  });
  return lease;
}

Status Engine::release(std::string_view tenant, std::string_view lease_id) noexcept {
  return guarded([&] { return impl_->release(tenant, lease_id); });
}

Status Engine::renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us) noexcept {
  return guarded([&] { return impl_->renew(tenant, lease_id, expires_us); });
}

Status Engine::load(std::string_view bundle) noexcept {
  return guarded([&] { return impl_->load(bundle); });
}

Status Engine::reload() noexcept {
  return guarded([&] { return impl_->reload(); });
}

bool Engine::has_policies() const noexcept { return impl_->revision() > 0; }
std::uint64_t Engine::revision() const noexcept { return impl_->revision(); }

void Engine::run() noexcept {
  guarded([&]() -> Status {
    impl_->run();
    return {};
  });
}

std::size_t Engine::poll() noexcept {
  std::size_t done = 0;
  guarded([&]() -> Status {
    done = impl_->poll();
    return {};
  });
  return done;
}

void Engine::stop() noexcept {
  guarded([&]() -> Status {
    impl_->stop();
    return {};
  });
}

std::string Engine::metrics() const noexcept {
  std::string text;
  guarded([&]() -> Status {
    text = impl_->metrics();
    return {};
  });
  return text;
}

}  // namespace sluice::v1
