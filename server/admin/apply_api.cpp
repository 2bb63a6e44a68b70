// POST /v1/admin/apply: changes the stored objects to those of a bundle, in one transaction and one revision.
#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/text.hpp"
#include "common/http/problem.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/merge_patch.hpp"
#include "common/policy/snapshot.hpp"
#include "server/admin/apply_plan.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/name_check.hpp"
#include "server/admin/overrides_api.hpp"
#include "server/admin/plan_budget.hpp"
#include "server/admin/quota_check.hpp"
#include "server/admin/quotas_api.hpp"
#include "server/admin/references.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

bool read_flag(const Call& call, std::string_view name) {
  const std::string_view text = call.parameter(name);
  if (text == "true") return true;
  if (!text.empty() && text != "false") {
    http::refuse_fault(400, fmt::format("?{}", name), fmt::format("{} is true or false, not {}", name, quoted(text)));
  }
  return false;
}

ApplyOptions read_options(const Call& call) {
  return {.dry_run = read_flag(call, "dry_run"),
          .prune = read_flag(call, "prune"),
          .organization_id = std::string(call.parameter("organization_id"))};
}

std::string merge_patch_of(const std::string& before, const std::string& after) {
  json::Tree old_tree;
  json::Tree new_tree;
  return json::merge_patch(old_tree.parse(before).value(), new_tree.parse(after).value());
}

// Writes the planned changes, and lists them for the answer.
class Writer {
 public:
  Writer(Context& context, const BundleBody& body, ApplyPlan plan)
      : tx_(context.tx), body_(body), plan_(std::move(plan)) {
    changes_.begin_list();
  }

  // Removes overrides first, because new overrides can be for the same limits and identities. Removes other objects
  // before the objects that they refer to. `setting` is WantedState::setting.
  void write(const std::optional<std::string>& setting) {
    remove(Kind::override_);
    for (const Kind kind : kAllKinds) {
      if (!info(kind).in_bundle) continue;
      create(kind);
      update(kind);
    }
    for (const Kind kind : lock_order()) {
      if (info(kind).in_bundle && kind != Kind::override_) remove(kind);
    }
    if (setting) update_setting(*setting);
    check_unindexed();
  }

  // As check_names() of the executor, with the places of the names in the bundle. Call it after write().
  void check_names() {
    Faults faults;
    for (const store::SharedName& shared : shared_names(tx_, log_)) {
      faults.push_back(name_fault(shared, body_.pointer_to(shared.key) + "/name"));
    }
    if (faults.empty()) return;
    body_.locate(faults);
    refuse_names(std::move(faults));
  }

  // Call this once, after write().
  std::string take_changes() {
    changes_.end_list();
    return changes_.take();
  }
  store::ChangeLog& log() { return log_; }

 private:
  void list_change(std::string_view action, const ObjectId& key, const std::string& diff = {}) {
    changes_.begin_object();
    changes_.field("action", action);
    changes_.field("kind", info(key.kind).name);
    if (info(key.kind).in_tenant()) changes_.field("tenant_id", key.tenant_id);
    changes_.field("id", key.id);
    if (!diff.empty()) {
      changes_.key("diff");
      changes_.raw(diff);
    }
    changes_.end_object();
  }

  void create(Kind kind) {
    KindChanges& changes = plan_.of(kind);
    const std::vector<std::int64_t> versions = store::insert_all(tx_, kind, changes.create);
    Faults taken;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      store::RowDraft& row = changes.create[i];
      if (versions[i] == 0) {
        taken.push_back(taken_by_another(kind, row.key, changes.create_index[i]));
        continue;
      }
      list_change("create", row.key);
      log_.add({.action = "create",
                .key = row.key,
                .organization_id = row.organization_id,
                .version = versions[i],
                .before = std::nullopt,
                .after = std::move(row.document)});
    }
    if (!taken.empty()) body_.refuse(std::move(taken));
  }

  // Returns why a row could not be inserted. `index` is the position of the row's object in its list of the bundle.
  Fault taken_by_another(Kind kind, const ObjectId& key, std::size_t index) {
    if (store::find(tx_, kind, key.tenant_id, key.id)) throw ConcurrentChange();
    if (kind == Kind::override_) {
      return {"/overrides", fmt::format("an override that is not in the bundle (perhaps just expired) is for the "
                                        "same limit and identity as override {} of tenant {}",
                                        key.id, key.tenant_id)};
    }
    if (info(kind).local_id) throw ConcurrentChange();
    return {fmt::format("/{}/{}/id", info(kind).table(), index),
            fmt::format("the id {} is taken: choose another", quoted(key.id))};
  }

  void update(Kind kind) {
    KindChanges& changes = plan_.of(kind);
    const std::vector<std::int64_t> versions = store::update_all(tx_, kind, changes.update);
    for (std::size_t i = 0; i < versions.size(); ++i) {
      store::RowDraft& row = changes.update[i];
      list_change("update", row.key, merge_patch_of(changes.before[i].document, row.document));
      log_.add({.action = "update",
                .key = row.key,
                .organization_id = row.organization_id,
                .version = versions[i],
                .before = std::move(changes.before[i].document),
                .after = std::move(row.document)});
    }
  }

  void remove(Kind kind) {
    KindChanges& changes = plan_.of(kind);
    // Tokens and bindings, which bundles do not contain, may refer to a tenant.
    if (kind == Kind::tenant) {
      for (const store::StoredObject& tenant : changes.remove) refuse_referenced(tx_, tenant.key);
    }
    store::remove_rows(tx_, kind, changes.remove);
    for (const store::StoredObject& object : changes.remove) {
      list_change("delete", object.key);
      log_.removed("delete", object);
      remove_quotas(tx_, log_, object.key);
    }
  }

  void update_setting(const std::string& document) {
    const auto before = store::find(tx_, Kind::setting, "", "global", store::Lock::update);
    if (!before || before->document == document) return;
    const store::StoredObject after = store::update(tx_, *before, document);
    list_change("update", after.key, merge_patch_of(before->document, document));
    log_.updated("update", *before, after);
  }

  // Counts all stored policies with a scope that the policy index cannot use. Compiling the bundle counted only the
  // bundle's policies.
  void check_unindexed() {
    const KindChanges& changes = plan_.of(Kind::policy);
    if (changes.create.empty() && changes.update.empty()) return;
    std::vector<std::string> tenants;
    for (const Tenant& tenant : body_.bundle.tenants) tenants.push_back(tenant.id);
    Faults faults;
    for (const auto& row :
         tx_.exec("SELECT tenant_id, count(*) FROM policies WHERE unindexed AND tenant_id = ANY ($1::text[]) "
                  "GROUP BY tenant_id HAVING count(*) > $2 ORDER BY tenant_id",
                  postgres::text_array(tenants), policy::kMaxUnindexedPolicies)) {
      faults.push_back(
          {"/policies",
           fmt::format("tenant {} would have {} policies that no index can find, and at most {} are allowed, because "
                       "every request is matched against all of them: name another dimension",
                       row[0].c_str(), row[1].c_str(), policy::kMaxUnindexedPolicies)});
    }
    if (!faults.empty()) body_.refuse(std::move(faults));
  }

  postgres::Transaction& tx_;
  const BundleBody& body_;
  ApplyPlan plan_;
  store::ChangeLog log_;
  json::Writer changes_{json::Writer::Layout::compact};
};

}  // namespace

Answer apply_bundle(Context& context) {
  const ApplyOptions options = read_options(context.call);
  const BundleBody body = BundleBody::read(context);
  WantedState wanted = wanted_state(context, body, options);
  if (Faults over = plan_budget_faults(context.tx, body.bundle); !over.empty()) body.refuse(std::move(over));
  const std::optional<std::string> setting = std::move(wanted.setting);
  ApplyPlan plan = plan_apply(context, body, std::move(wanted), options);
  const std::size_t unchanged = plan.unchanged;
  const KindChanges& overrides = plan.of(Kind::override_);
  const bool publishes = !overrides.create.empty() || !overrides.update.empty() || !overrides.remove.empty();
  if (publishes) require_publisher(context);
  // A dry run makes all changes, to find every fault, and rolls them back.
  if (options.dry_run) context.tx.exec_text("SAVEPOINT dry_run");
  Writer writer(context, body, std::move(plan));
  writer.write(setting);
  writer.check_names();
  if (options.dry_run) {
    check_quotas(context.tx, writer.log());
    context.tx.exec_text("ROLLBACK TO SAVEPOINT dry_run");
  } else {
    context.log = std::move(writer.log());
  }
  Answer answer;
  json::Writer& out = answer.object.emplace(open_object());
  out.field("dry_run", options.dry_run);
  out.key("changes");
  out.raw(writer.take_changes());
  out.field("unchanged", static_cast<std::int64_t>(unchanged));
  std::string warnings;
  sluice::http::write_faults(body.warnings, warnings);
  out.key("warnings");
  out.raw(warnings);
  if (publishes && !options.dry_run) answer.published = true;
  if (context.log.empty()) out.null_field("revision");
  return answer;
}

}  // namespace sluice::server::admin
