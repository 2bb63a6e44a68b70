#include "common/domain/bundle_object.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "common/domain/enum_text.hpp"
#include "common/domain/json_fields.hpp"
#include "common/domain/policy_json.hpp"
#include "common/domain/tenant_json.hpp"

namespace sluice {
namespace {

struct KindNames {
  std::string_view one, list;
};
constexpr std::array<KindNames, 6> kNames{{{"settings", ""},
                                           {"organization", "organizations"},
                                           {"tenant", "tenants"},
                                           {"plan", "plans"},
                                           {"policy", "policies"},
                                           {"key", "keys"}}};

const KindNames& names_of(ObjectKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string text_of(const ObjectName& name) {
  const bool in_tenant = !name.tenant_id.empty();
  return fmt::format("{} {}{}{}", to_string(name.kind), name.tenant_id, in_tenant ? "/" : "", name.id);
}

void read_settings(Fields& fields, Mode& out) {
  fields.require("mode", "settings say in which mode everything is");
  if (const auto mode = fields.choice("mode", &mode_from, kModeNames)) out = *mode;
  fields.reject_unknown();
}

class ObjectReader {
 public:
  ObjectReader(const ObjectName& name, Fields& fields) : name_(name), fields_(fields) {
    // One more than is known: a tenant that is not found is told of by is_named().
    tenants_.set_count(2);
    tenants_.add(fields, name.tenant_id);
  }

  template <class Item, class Read>
  void into(std::vector<Item>& list, Read read) {
    Item item;
    read(item);
    ObjectName found{.kind = name_.kind, .tenant_id = {}, .id = item.id};
    if constexpr (requires { item.tenant_id; }) found.tenant_id = item.tenant_id;
    if (fields_.faults().count() == 0 && found != name_) {
      fields_.fault("id", fmt::format("this is not the {} that it is said to be", text_of(name_)));
    }
    if (fields_.faults().count() == 0) list.push_back(std::move(item));
  }

  void read(Bundle& out) {
    switch (name_.kind) {
      case ObjectKind::settings:
        return read_settings(fields_, out.mode);
      case ObjectKind::organization:
        return into(out.organizations, [this](Organization& item) { read_organization(fields_, item); });
      case ObjectKind::tenant:
        return into(out.tenants, [this](Tenant& item) { read_tenant(fields_, item); });
      case ObjectKind::plan:
        return into(out.plans, [this](Plan& item) { read_plan(fields_, tenants_, item); });
      case ObjectKind::policy:
        return into(out.policies, [this](Policy& item) { read_policy(fields_, tenants_, item); });
      case ObjectKind::key:
        return into(out.keys, [this](ApiKey& item) { read_key(fields_, tenants_, item); });
    }
  }

 private:
  const ObjectName& name_;
  Fields& fields_;
  TenantIndex tenants_;
};

}  // namespace

std::string_view to_string(ObjectKind kind) { return names_of(kind).one; }

std::string_view list_name(ObjectKind kind) { return names_of(kind).list; }

std::optional<ObjectKind> object_kind_from(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i].one == text) return static_cast<ObjectKind>(i);
  }
  return std::nullopt;
}

Faults read_object(const ObjectName& name, std::string_view document, Bundle& out) {
  JsonTree tree;
  const auto value = tree.parse(document);
  if (!value) return {value.error()};
  FaultList faults;
  const Place root;
  Fields fields(*value, root, faults);
  if (fields.is_object()) ObjectReader(name, fields).read(out);
  return faults.take();
}

}  // namespace sluice
