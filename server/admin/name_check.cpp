#include "server/admin/name_check.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/policy/shared_names.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

// The keys of the objects of `kind` that were written, and may have a name.
std::vector<ObjectId> named(const store::ChangeLog& log, Kind kind) {
  std::vector<ObjectId> keys;
  for (const store::Change& change : log.changes()) {
    const bool may_have_name = change.after && change.after->find("\"name\":") != std::string::npos;
    if (change.key.kind == kind && may_have_name && change.action != "rollout") keys.push_back(change.key);
  }
  return keys;
}

}  // namespace

std::vector<store::SharedName> shared_names(postgres::Transaction& tx, const store::ChangeLog& log) {
  std::vector<store::SharedName> found;
  bool locked = false;
  for (const Kind kind : {Kind::plan, Kind::policy}) {
    const std::vector<ObjectId> keys = named(log, kind);
    if (keys.empty()) continue;
    if (!std::exchange(locked, true)) log.lock_heads(tx);
    std::ranges::move(store::find_shared_names(tx, kind, keys), std::back_inserter(found));
  }
  return found;
}

Fault name_fault(const store::SharedName& shared, std::string pointer) {
  return {std::move(pointer), policy::shared_name_text(shared.key.view(), shared.name, shared.other_id)};
}

void refuse_names(Faults faults) {
  const std::string detail = faults.front().text;
  throw http::Refusal(409, "exists", detail, std::move(faults));
}

void check_names(postgres::Transaction& tx, const store::ChangeLog& log) {
  Faults faults;
  for (const store::SharedName& shared : shared_names(tx, log)) faults.push_back(name_fault(shared, "/name"));
  if (!faults.empty()) refuse_names(std::move(faults));
}

}  // namespace sluice::server::admin
