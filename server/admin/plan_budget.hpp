// Refuses plans, and policies with limits of their own, that cost more of Redis than their tenant may spend.
//
// Only writes are judged, and a write may keep or lower what the stored object costs: objects from before a budget
// keep working, and their other members can still change.
#pragma once

#include <string_view>
#include <vector>

#include "common/domain/bundle.hpp"
#include "common/objects/object_id.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::admin {

// Refuses 422 if the limits cost too much. `key`: the plan or policy that the call creates or changes.
void check_plan_budget(postgres::Transaction& tx, const ObjectIdView& key, const std::vector<Limit>& limits);

// A fault for each plan and policy of the bundle that costs too much. Pointers are into the bundle.
Faults plan_budget_faults(postgres::Transaction& tx, const Bundle& bundle);

}  // namespace sluice::server::admin
