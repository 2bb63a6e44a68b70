// Who asks: the caller of the decision core for a program's request.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/policy/snapshot.hpp"
#include "engine/decide/decider.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// Thread: one at a time. In the steady state it allocates nothing.
class Callers {
 public:
  // `tenant`: of requests that name none; "": the only one. All outlive this object.
  Callers(decide::Decider& decider, const std::string& tenant) : decider_(decider), tenant_(tenant) {}

  // REQUIRES: called after Decider::set_snapshot(), with the same one.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);

  struct Found {
    const decide::Caller* caller = nullptr;  // valid until the next call; nullptr: `status` says why
    limiter::Origin origin;
  };
  // By the request's API key if it has one, else by the tenant that it names. REQUIRES, for both: there is a snapshot.
  Found find(const v1::Request& request, v1::Status& status) {
    if (request.api_key.data() != nullptr) [[unlikely]]
      return authenticate(request, status);
    return find(request.tenant, status);
  }
  Found find(std::string_view tenant, v1::Status& status);

 private:
  Found authenticate(const v1::Request& request, v1::Status& status);
  v1::Status unknown_tenant(std::string_view tenant) const;

  decide::Decider& decider_;
  const std::string& tenant_;
  const policy::TenantView* unnamed_ = nullptr;  // of requests that name no tenant
  decide::Caller trusted_;                       // of the last tenant that a request named without an API key
  limiter::Origin trusted_origin_;
  decide::Caller keyed_;  // of the last API key
};

struct Pause {
  v1::Micros retry_after{0};  // kNever: the check will never pass
  bool sooner = false;        // it may pass sooner than the engine can know: leases are released at any time
};
// How long a check that `decision` denies waits before it asks again. `tenant`: nullptr if it is not known.
Pause pause_after(const v1::Decision& decision, const policy::TenantView* tenant);

}  // namespace sluice::lib
