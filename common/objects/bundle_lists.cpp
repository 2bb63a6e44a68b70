#include "common/objects/bundle_lists.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "common/objects/field_tables.hpp"
#include "common/objects/override_json.hpp"
#include "common/objects/policy_json.hpp"
#include "common/objects/tenant_json.hpp"

namespace sluice {

struct BundleLists {
  using Builder = BundleBuilder;
  using Rows = std::array<BundleListAccess, kKinds>;

  template <Kind kind, class Item>
  static ObjectIdView id_of(const Item& item) {
    if constexpr (info(kind).in_tenant()) return {kind, item.tenant_id, item.id};
    return {kind, "", item.id};
  }

  template <class Item, auto write>
  static void write_stored(json::Writer& out, const Item& item) {
    write(out, item, Form::stored);
  }

  // `list`: a member of Bundle. `read`: a member function of BundleBuilder or, for objects that refer only to their
  // tenant, a free function.
  template <Kind kind, auto list, auto read, auto write>
  static constexpr void add(Rows& rows, std::span<const json::Field> table) {
    rows[static_cast<std::size_t>(kind)] = {
        .fields = table,
        .reserve = [](Bundle& bundle, std::size_t objects) { (bundle.*list).reserve(objects); },
        .read =
            [](Builder& builder, json::Fields& fields) {
              auto& item = (builder.bundle_.*list).emplace_back();
              if (!fields.is_object()) return;
              if constexpr (std::is_member_function_pointer_v<decltype(read)>) {
                (builder.*read)(fields, item);
              } else {
                builder.read_of_tenant(kind, fields, item, read);
              }
            },
        .size = [](const Bundle& bundle) { return (bundle.*list).size(); },
        .id = [](const Bundle& bundle, std::size_t index) { return id_of<kind>((bundle.*list)[index]); },
        .write = [](json::Writer& out, const Bundle& bundle, std::size_t index) { write(out, (bundle.*list)[index]); }};
  }

  static constexpr Rows rows() {
    Rows rows{};
    add<Kind::organization, &Bundle::organizations, &Builder::read_organization, &write_organization>(
        rows, organization_field::kAll);
    add<Kind::tenant, &Bundle::tenants, &Builder::read_tenant, &write_tenant>(rows, tenant_field::kAll);
    add<Kind::plan, &Bundle::plans, &Builder::read_plan, &write_stored<Plan, write_plan>>(rows, plan_field::kAll);
    add<Kind::policy, &Bundle::policies, &Builder::read_policy, &write_stored<Policy, write_policy>>(
        rows, policy_field::kAll);
    add<Kind::key, &Bundle::keys, &Builder::read_key, &write_key>(rows, key_field::kAll);
    add<Kind::override_, &Bundle::overrides, &Builder::read_override, &write_override>(rows, override_field::kAll);
    return rows;
  }
};

namespace {

constexpr BundleLists::Rows kRows = BundleLists::rows();
static_assert(std::ranges::all_of(kAllKinds,
                                  [](Kind kind) {
                                    return info(kind).in_bundle ==
                                           (kRows[static_cast<std::size_t>(kind)].read != nullptr);
                                  }),
              "each kind that is in bundles has a row here");

}  // namespace

const BundleListAccess& list_access(Kind kind) { return kRows[static_cast<std::size_t>(kind)]; }

}  // namespace sluice
