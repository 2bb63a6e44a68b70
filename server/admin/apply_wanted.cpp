#include "server/admin/apply_wanted.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/objects/override_json.hpp"
#include "common/objects/policy_json.hpp"
#include "common/objects/tenant_json.hpp"
#include "server/admin/drafts.hpp"
#include "server/counters/rules.hpp"

namespace sluice::server::admin {
namespace {

using ById = std::unordered_map<std::string, store::StoredObject>;

// The stored objects with the ids of the bundle's objects. REQUIRES: ids of this kind are unique across tenants.
ById stored(postgres::Transaction& tx, Kind kind, const Bundle& bundle) {
  const BundleListAccess& access = list_access(kind);
  std::vector<ObjectId> keys;
  for (std::size_t i = 0; i < access.size(bundle); ++i) {
    keys.push_back({.kind = kind, .tenant_id = {}, .id = std::string(access.id(bundle, i).id)});
  }
  ById found;
  for (store::StoredObject& object : store::find_all(tx, kind, keys)) {
    std::string id = object.key.id;
    found.emplace(std::move(id), std::move(object));
  }
  return found;
}

void store_plan(json::Writer& out, const Plan& plan) { write_plan(out, plan, Form::stored); }
void store_policy(json::Writer& out, const Policy& policy) { write_policy(out, policy, Form::stored); }

class Reader {
 public:
  Reader(Context& context, const BundleBody& body, const ApplyOptions& options)
      : context_(context), body_(body), bundle_(body.bundle), options_(options) {}

  WantedState read() {
    read_mode();
    read_organizations();
    read_tenants();
    // A faulty tenant may be outside the caller's scope, so objects of tenants are not read after a fault.
    if (!faults_.empty()) body_.refuse(std::move(faults_));
    for (const Kind kind : kAllKinds) {
      if (info(kind).in_bundle && info(kind).in_tenant()) read_objects(kind);
    }
    if (!faults_.empty()) body_.refuse(std::move(faults_));
    return std::move(wanted_);
  }

 private:
  void fault(std::string_view list, std::size_t index, std::string_view member, std::string text) {
    faults_.push_back({fmt::format("/{}/{}/{}", list, index, member), std::move(text)});
  }

  void read_mode() {
    if (!body_.has_mode()) return;
    const auto now = store::find(context_.tx, Kind::setting, "", "global");
    std::string document = fmt::format(R"({{"mode":"{}"}})", to_string(bundle_.mode));
    if (!now || now->document == document) return;
    const auth::Principal& caller = context_.principal;
    if (caller.scope_level() == auth::Level::platform && auth::allows(caller.role, auth::Permission::operate)) {
      wanted_.setting = std::move(document);
    } else {
      faults_.push_back({"/mode",
                         "mode differs from the platform's mode, and this token may not change that: leave mode out, "
                         "or repeat the present mode"});
    }
  }

  void read_organizations() {
    const ById known = stored(context_.tx, Kind::organization, bundle_);
    const auth::Principal& caller = context_.principal;
    const bool may_create = auth::allows(caller.role, auth::Permission::manage_organizations) &&
                            caller.scope_level() == auth::Level::platform;
    for (std::size_t i = 0; i < bundle_.organizations.size(); ++i) {
      const Organization& item = bundle_.organizations[i];
      std::string document = canonical(item, write_organization);
      const auto found = known.find(item.id);
      if (found == known.end() && !may_create) {
        fault("organizations", i, "id",
              fmt::format("there is no organization {}, and only {} can create one", quoted(item.id),
                          auth::roles_with(auth::Permission::manage_organizations)));
      } else if (found != known.end() && found->second.document != document &&
                 caller.scope_level() < auth::Level::organization) {
        fault("organizations", i, "name",
              fmt::format("organization {} differs from the stored one, and the token is limited to tenants: leave "
                          "organizations out, or repeat them unchanged",
                          quoted(item.id)));
      }
      wanted_.of(Kind::organization)
          .push_back({.key = {Kind::organization, "", item.id},
                      .organization_id = item.id,
                      .document = std::move(document),
                      .extra = {}});
    }
  }

  bool is_organization(const std::string& id) {
    for (const Organization& item : bundle_.organizations) {
      if (item.id == id) return true;
    }
    return store::find(context_.tx, Kind::organization, "", id).has_value();
  }

  // The organization of new tenants without organization_id, or "" if there is no default.
  const std::string& default_organization() {
    if (default_organization_) return *default_organization_;
    default_organization_ = options_.organization_id;
    if (default_organization_->empty()) default_organization_ = context_.principal.organization_id;
    if (default_organization_->empty() && bundle_.organizations.size() == 1)
      default_organization_ = bundle_.organizations.front().id;
    if (!default_organization_->empty() && !is_organization(*default_organization_)) {
      faults_.push_back(
          {"?organization_id", fmt::format("there is no organization {}", quoted(*default_organization_))});
    }
    return *default_organization_;
  }

  void read_tenants() {
    if (!options_.organization_id.empty()) default_organization();
    const ById known = stored(context_.tx, Kind::tenant, bundle_);
    for (std::size_t i = 0; i < bundle_.tenants.size(); ++i) {
      Tenant item = bundle_.tenants[i];
      const auto found = known.find(item.id);
      const store::StoredObject* const before = found == known.end() ? nullptr : &found->second;
      if (item.organization_id.empty()) {
        item.organization_id = before != nullptr ? before->organization_id : default_organization();
      }
      complete_trailing_slash(item, before);
      check_tenant(i, item, before);
      organizations_.emplace(item.id, item.organization_id);
      wanted_.tenant_ids.push_back(item.id);
      wanted_.of(Kind::tenant)
          .push_back({.key = {Kind::tenant, item.id, item.id},
                      .organization_id = item.organization_id,
                      .document = canonical(item, write_tenant),
                      .extra = {}});
    }
  }

  // As complete_tenant() in objects_api.cpp.
  static void complete_trailing_slash(Tenant& item, const store::StoredObject* before) {
    if (item.trailing_slash) return;
    if (before == nullptr) {
      item.trailing_slash = TrailingSlash::same;
    } else {
      item.trailing_slash = parse_trailing_slash(counters::member_of(before->document, "trailing_slash"));
    }
  }

  void check_tenant(std::size_t i, const Tenant& item, const store::StoredObject* before) {
    if (before == nullptr && context_.principal.scope_level() < auth::Level::organization) {
      fault("tenants", i, "id", fmt::format("there is no tenant {} in the token's scope", quoted(item.id)));
    } else if (item.organization_id.empty()) {
      fault("tenants", i, "organization_id", "organization_id is missing: every tenant belongs to an organization");
    } else if (before != nullptr && before->organization_id != item.organization_id) {
      fault("tenants", i, "organization_id",
            fmt::format("tenant {} belongs to organization {}, and cannot move to another one", quoted(item.id),
                        before->organization_id));
    } else if (!options_.organization_id.empty() && item.organization_id != options_.organization_id) {
      fault("tenants", i, "organization_id",
            fmt::format("?organization_id limits the call to organization {}", quoted(options_.organization_id)));
    } else if (!context_.principal.organization_id.empty() &&
               item.organization_id != context_.principal.organization_id) {
      fault("tenants", i, "organization_id", fmt::format("there is no organization {}", quoted(item.organization_id)));
    }
  }

  void read_objects(Kind kind) {
    const BundleListAccess& access = list_access(kind);
    if (!info(kind).local_id) check_owners(kind);
    const std::set<std::size_t> lenient = stored_without_requirement(kind);
    for (std::size_t i = 0; i < access.size(bundle_); ++i) {
      if (kind == Kind::plan) {
        read_plan(bundle_.plans[i], lenient.contains(i));
      } else if (kind == Kind::policy) {
        read_policy(bundle_.policies[i], lenient.contains(i));
      } else if (kind == Kind::override_) {
        read_override(i);
      } else {
        add(access.id(bundle_, i), canonical(bundle_, kind, i));
      }
    }
  }

  void add(const ObjectIdView& id, std::string document, std::vector<store::ExtraColumn> extra = {}) {
    const std::string tenant_id(id.tenant_id);
    wanted_.of(id.kind).push_back({.key = {id.kind, tenant_id, std::string(id.id)},
                                   .organization_id = organizations_.at(tenant_id),
                                   .document = std::move(document),
                                   .extra = std::move(extra)});
  }

  // REQUIRES: ids of this kind are unique across tenants.
  void check_owners(Kind kind) {
    const BundleListAccess& access = list_access(kind);
    const ById known = stored(context_.tx, kind, bundle_);
    for (std::size_t i = 0; i < access.size(bundle_); ++i) {
      const ObjectIdView id = access.id(bundle_, i);
      const auto found = known.find(std::string(id.id));
      if (found == known.end() || found->second.key.tenant_id == id.tenant_id) continue;
      fault(info(kind).plural, i, "tenant_id",
            fmt::format("{} {} belongs to tenant {}, and does not move to another", info(kind).name, quoted(id.id),
                        found->second.key.tenant_id));
    }
  }

  // Finds the plans or policies of the bundle that leave out `require_key_by`, and are stored with false. Applying the
  // same file again must not change them.
  std::set<std::size_t> stored_without_requirement(Kind kind) {
    const std::vector<std::size_t>& unsaid = body_.without_requirement(kind);
    std::vector<ObjectId> keys;
    for (const std::size_t i : unsaid) keys.push_back(key_at(kind, i));
    std::unordered_set<std::string> lenient;
    for (const store::StoredObject& object : store::find_all(context_.tx, kind, keys)) {
      if (!store::requires_key_by(object.document)) lenient.insert(map_key(object.key));
    }
    std::set<std::size_t> found;
    for (std::size_t i = 0; i < unsaid.size(); ++i) {
      if (lenient.contains(map_key(keys[i]))) found.insert(unsaid[i]);
    }
    return found;
  }

  ObjectId key_at(Kind kind, std::size_t index) const {
    const ObjectIdView id = list_access(kind).id(bundle_, index);
    return {.kind = kind, .tenant_id = std::string(id.tenant_id), .id = std::string(id.id)};
  }

  void read_plan(Plan plan, bool lenient) {
    if (lenient) plan.enforcement.required = RequiredDimensions::none;
    add({Kind::plan, plan.tenant_id, plan.id}, canonical(plan, store_plan));
  }

  void read_policy(Policy policy, bool lenient) {
    if (lenient) policy.enforcement.required = RequiredDimensions::none;
    policy.version = 1;  // leaves `version` out of the document
    add({Kind::policy, policy.tenant_id, policy.id}, canonical(policy, store_policy), policy_columns(policy));
  }

  void read_override(std::size_t index) {
    const Override& item = bundle_.overrides[index];
    if (auto reserved = reserved_id_fault(item)) fault("overrides", index, "id", std::move(*reserved));
    if (item.expires_at && item.expires_at->time_since_epoch().count() <= context_.now_us) return;
    add({Kind::override_, item.tenant_id, item.id}, canonical(item, write_override), override_columns(item));
  }

  Context& context_;
  const BundleBody& body_;
  const Bundle& bundle_;
  const ApplyOptions& options_;
  WantedState wanted_;
  Faults faults_;
  std::optional<std::string> default_organization_;
  std::unordered_map<std::string, std::string> organizations_;  // by tenant id
};

}  // namespace

WantedState wanted_state(Context& context, const BundleBody& body, const ApplyOptions& options) {
  return Reader(context, body, options).read();
}

}  // namespace sluice::server::admin
