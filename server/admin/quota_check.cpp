#include "server/admin/quota_check.hpp"

#include <map>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "server/admin/quotas.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::int64_t kMaxUseRows = 8;  // of an owner; more are replaced by their sum

using Owner = std::pair<std::string, std::string>;  // organization, tenant; tenant "": the organization

void count(Amounts& amounts, const store::Change& change) {
  const std::int64_t more = (change.after ? 1 : 0) - (change.before ? 1 : 0);
  if (change.key.kind == Kind::policy) amounts.policies += more;
  if (change.key.kind == Kind::plan) amounts.plans += more;
  if (change.key.kind == Kind::key) amounts.keys += more;
  amounts.snapshot_bytes += static_cast<std::int64_t>(change.after ? change.after->size() : 0) -
                            static_cast<std::int64_t>(change.before ? change.before->size() : 0);
}

std::map<Owner, Amounts> increases(const std::vector<store::Change>& changes) {
  std::map<Owner, Amounts> found;
  for (const store::Change& change : changes) {
    const Kind kind = change.key.kind;
    if (kind != Kind::policy && kind != Kind::plan && kind != Kind::key) continue;
    count(found[{change.organization_id, change.key.tenant_id}], change);
    count(found[{change.organization_id, ""}], change);
  }
  std::erase_if(found, [](const auto& entry) {
    for (const AmountRow& row : kAmounts) {
      if (entry.second.*row.member > 0) return false;
    }
    return true;
  });
  return found;
}

// REQUIRES: the audit head of the organization is locked.
void judge(postgres::Transaction& tx, const Owner& owner, const Amounts& increase, Faults& faults) {
  const auto& [organization, tenant] = owner;
  const Amounts limits = quotas_of(tx, organization, tenant).amounts;
  const Use found = use_of(tx, organization, tenant);
  const Amounts& use = found.amounts;
  const std::string name = tenant.empty() ? "organization " + quoted(organization) : "tenant " + quoted(tenant);
  for (const AmountRow& row : kAmounts) {
    if (increase.*row.member <= 0 || use.*row.member <= limits.*row.member) continue;
    faults.push_back(
        {"", fmt::format("the quota {} of {} is {}; {} are in use, and this call would add {}: delete what "
                         "is not needed, or ask a platform_admin to raise the quota",
                         row.name, name, limits.*row.member, use.*row.member - increase.*row.member,
                         increase.*row.member)});
  }
  if (found.rows > kMaxUseRows) compact_use(tx, organization, tenant);
}

}  // namespace

void check_quotas(postgres::Transaction& tx, const store::ChangeLog& log) {
  const std::map<Owner, Amounts> found = increases(log.changes());
  if (found.empty()) return;
  log.lock_heads(tx);
  Faults faults;
  for (const auto& [owner, increase] : found) judge(tx, owner, increase, faults);
  if (faults.empty()) return;
  const std::string detail = faults.front().text;
  throw http::Refusal(409, "quota-exceeded", detail, std::move(faults));
}

}  // namespace sluice::server::admin
