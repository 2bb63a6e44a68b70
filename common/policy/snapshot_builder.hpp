// Builds a snapshot from the previous one, or from an empty one: adds, replaces and removes objects. The previous
// snapshot never changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/policy/snapshot.hpp"
#include "common/policy/snapshot_delta.hpp"
#include "common/policy/tenant_builder.hpp"

namespace sluice::policy {

class SnapshotBuilder {
 public:
  // How the JSON pointers of faults name an object.
  enum class Pointers : std::uint8_t {
    by_place,  // /policies/3/match_expr
    by_name,   // /policies/shop/orders/match_expr
  };

  SnapshotBuilder(const Snapshot& before, const Bundle& objects, std::span<const ObjectId> removed, Pointers pointers,
                  std::int64_t now_us);

  void set_mode(Mode mode) { out_.mode = mode; }

  // Returns the new snapshot, without revision, chain and overrides. REQUIRES: called once.
  std::expected<Snapshot, Faults> build();

 private:
  void remove(const ObjectId& name);
  bool try_remove(const ObjectId& name);
  void put_organizations();
  void put_tenants();
  // put(tenant, item, index) returns the item's faults.
  template <class Item, class Put>
  void put_in_tenants(Kind kind, const std::vector<Item>& items, Put put) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      TenantBuilder* tenant = builder_for(items[i].tenant_id, kind, i);
      if (!tenant) continue;
      for (Fault& each : put(*tenant, items[i], i)) fault(kind, i, std::move(each));
    }
  }
  void put_objects_of_tenants();
  void renew_policies();
  Faults put_key(TenantBuilder& tenant, const ApiKey& key);
  void check_counts();
  void check_removed();
  std::optional<std::string> still_used(const ObjectId& name);
  std::optional<std::string> organization_used(const std::string& id);
  std::unordered_map<std::string, std::ptrdiff_t> tenant_count_changes() const;
  void settle();

  // Both return nullptr if the tenant does not exist. builder_for() also returns nullptr for a tenant that is being
  // removed, and records a fault in both cases.
  TenantBuilder* builder_of(const std::string& tenant_id);
  TenantBuilder* builder_for(const std::string& tenant_id, Kind kind, std::size_t index);

  std::string pointer(Kind kind, std::size_t index) const;
  void fault(Kind kind, std::size_t index, Fault fault);
  void fault(const ObjectId& removed, std::string text);

  const Snapshot& before_;
  const Bundle& objects_;
  const std::span<const ObjectId> removed_;
  const Pointers pointers_;
  const std::int64_t now_us_;
  Snapshot out_;
  Faults faults_;
  std::unordered_map<std::string, TenantBuilder> tenants_;
};

}  // namespace sluice::policy
