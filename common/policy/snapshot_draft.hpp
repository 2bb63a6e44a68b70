// The one way in which snapshots come about: objects are put into the one before, or into none, and taken out.
//
// Thread safety: none; belongs to one call of build_snapshot() or next_snapshot().
// Invariant: the snapshot before is never changed, whatever becomes of the draft.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/policy/snapshot.hpp"
#include "common/policy/snapshot_delta.hpp"
#include "common/policy/tenant_draft.hpp"

namespace sluice::policy {

class SnapshotDraft {
 public:
  // How faults name the object they are about.
  enum class Pointers : std::uint8_t {
    by_place,  // /policies/3/match_expr
    by_name,   // /policies/shop/orders/match_expr
  };

  SnapshotDraft(const Snapshot& before, const Bundle& objects, std::span<const ObjectName> removed, Pointers pointers,
                std::int64_t now_us);

  void set_mode(Mode mode) { out_.mode = mode; }

  // The new snapshot, but for its name and its overrides. Once.
  std::expected<Snapshot, Faults> build();

 private:
  void remove(const ObjectName& name);
  bool try_remove(const ObjectName& name);
  void put_organizations();
  void put_tenants();
  void put_plans();
  void put_policies();
  void put_keys();
  void put_key(const ApiKey& key, std::size_t index);
  void check_counts();
  void check_removed(const ObjectName& name);
  std::optional<std::string> still_used(const ObjectName& name);
  std::optional<std::string> organization_used(const std::string& id);
  std::unordered_map<std::string, std::ptrdiff_t> tenants_more_of_organizations() const;
  void settle();

  // The tenant to change; nullptr where there is none, or, for what is put, where it is removed.
  TenantDraft* draft_of(const std::string& tenant_id);
  TenantDraft* draft_for(const std::string& tenant_id, ObjectKind kind, std::size_t index);

  std::string pointer(ObjectKind kind, std::size_t index) const;
  void fault(ObjectKind kind, std::size_t index, Fault fault);
  void fault(const ObjectName& removed, std::string text);

  const Snapshot& before_;
  const Bundle& objects_;
  const std::span<const ObjectName> removed_;
  const Pointers pointers_;
  const std::int64_t now_us_;
  Snapshot out_;
  Faults faults_;
  std::unordered_map<std::string, TenantDraft> tenants_;
};

}  // namespace sluice::policy
