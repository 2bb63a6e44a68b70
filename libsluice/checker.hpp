// Takes checks from a program's request to its decision, with counters that answer at once.
//
// Thread: one at a time. In the steady state it allocates nothing.
#pragma once

#include <memory>
#include <string>

#include "common/limiter/memory_store.hpp"
#include "engine/decide/check.hpp"
#include "engine/decide/decider.hpp"
#include "libsluice/callers.hpp"
#include "libsluice/request_of.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// What all checkers of an engine share. Outlives them.
struct CheckerParts {
  limiter::MemoryCounters& counters;
  const Clock& clock;
  decide::InFlight& in_flight;
  decide::WaitingPlaces& waiting;  // without places: nothing is held
  const std::string& tenant;       // of requests that name none; "": the only one
  bool allow_without_policies = false;
};

class Checker final : private decide::CheckListener {
 public:
  Checker(const CheckerParts& parts, decide::DecisionObserver& observer);

  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);

  // Throws only what the program's clock throws.
  void check(const v1::Request& request, v1::Decision& decision, bool batch = false);

  // Of the last check(), which was denied.
  Pause pause(const v1::Decision& decision) const { return pause_after(decision, tenant_of_last_); }

  v1::Status release(std::string_view tenant, std::string_view lease_id);
  v1::Status renew(std::string_view tenant, std::string_view lease_id, std::int64_t* expires_us);

 private:
  struct LeaseAnswer;

  void decided(std::size_t slot, const Decision& decision) override;
  void refused(std::size_t slot, const decide::Refusal& refusal) override;

  void decide_without_policies(const v1::Request& request, v1::Decision& decision);
  template <class Ask, class StatusOf>
  v1::Status change_lease(std::string_view tenant, std::string_view lease_id, Ask ask, StatusOf status_of_outcome);

  limiter::MemoryStore store_;
  decide::WaitingRoom room_;
  decide::Decider decider_;
  decide::Check check_{decider_};
  Callers callers_;
  RequestReader reader_;
  CheckRequest core_request_;

  const policy::TenantView* tenant_of_last_ = nullptr;
  const v1::Request* request_ = nullptr;  // that is checked now
  v1::Decision* decision_ = nullptr;
};

}  // namespace sluice::lib
