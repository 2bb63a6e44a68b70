#include "server/admin/drafts.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/clock.hpp"
#include "common/base/crypto.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"
#include "common/objects/bundle_builder.hpp"
#include "common/objects/bundle_lists.hpp"
#include "common/objects/override_json.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/policy_index.hpp"
#include "common/policy/scope.hpp"
#include "common/policy/snapshot.hpp"
#include "common/policy/warnings.hpp"
#include "server/admin/plan_budget.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kMaxConflicts = 20;  // in warnings

// In `bundle`, the request body is the first object in the list of its kind. `notes`: of the reader.
Faults warnings_about_body(const Bundle& bundle, Kind kind, std::int64_t now_us, Faults notes) {
  const std::string own = fmt::format("/{}/0", info(kind).plural);
  std::ranges::move(policy::warnings(bundle, now_us), std::back_inserter(notes));
  Faults found;
  for (Fault& warning : notes) {
    if (warning.pointer != own && !warning.pointer.starts_with(own + "/")) continue;
    warning.pointer.erase(0, own.size());
    found.push_back(std::move(warning));
  }
  return found;
}

// Other limiters call a log of exact times by the name that is here the counter of two windows. The other names of
// both algorithms are not ambiguous. `at`: the pointer to `limit`.
void note_sliding_window(const json::Value& limit, const std::string& at, Faults& notes) {
  for (const std::string_view name : {"algorithm", "strategy", "type"}) {
    const std::string_view written = limit.text_of(name);
    if (written != "sliding_window" && written != "sliding-window") continue;
    notes.push_back({fmt::format("{}/{}", at, name),
                     "sliding_window is the counter of two weighted windows; sliding_window_log is the exact log, and "
                     "sliding_window_counter says the counter without this note"});
  }
}

// In a bundle the note would only be noise: exports have the canonical name.
Faults notes_on_algorithms(const json::Value& body) {
  Faults notes;
  note_sliding_window(body, "", notes);
  note_sliding_window(body.get("algorithm"), "/algorithm", notes);
  const std::span<json::Value> limits = body.items_of("limits");
  for (std::size_t i = 0; i < limits.size(); ++i) note_sliding_window(limits[i], fmt::format("/limits/{}", i), notes);
  return notes;
}

// Compiles a small bundle of the body, the stored objects that it refers to, and those that refer to it.
class DraftCompiler {
 public:
  DraftCompiler(postgres::Transaction& tx, Kind kind, const json::Value& body)
      : tx_(tx), kind_(kind), body_(body), tenant_id_(body.text_of("tenant_id")) {}

  // The columns of `rows` are id and document.
  void add(const pqxx::result& rows, Kind kind) {
    for (const auto& row : rows) add(kind, row[0].c_str(), row[1].c_str());
  }
  void add(Kind kind, const std::string& id, std::string document) {
    documents_[static_cast<std::size_t>(kind)].try_emplace(id, std::move(document));
  }

  // Adds the body's tenant, and the tenant's organization with only its id.
  void add_tenant() {
    const auto tenant = store::find(tx_, Kind::tenant, tenant_id_, tenant_id_, store::Lock::none);
    if (!tenant) return;
    organization_id_ = tenant->organization_id;
    add(Kind::organization, organization_id_, fmt::format(R"({{"id":{}}})", json::string_literal(organization_id_)));
    add(Kind::tenant, tenant_id_, tenant->document);
  }
  void add_policy(std::string_view policy_id) {
    const auto policy = store::find(tx_, Kind::policy, tenant_id_, policy_id, store::Lock::share);
    if (!policy) return;
    add(Kind::policy, policy->key.id, policy->document);
    add_plan(counters::member_of(policy->document, "plan_id"));
  }
  void add_plan(std::string_view plan_id) {
    if (plan_id.empty()) return;
    if (const auto plan = store::find(tx_, Kind::plan, tenant_id_, plan_id, store::Lock::share)) {
      add(Kind::plan, plan->key.id, plan->document);
    }
  }

  const std::string& organization_id() const { return organization_id_; }

  // Adds a fault of the body that the reader of bundles does not know.
  void add_fault(std::string_view member, std::string text) { own_faults_.emplace_back(member, std::move(text)); }
  // Throws a Refusal with the faults of the body, or else with the faults of other objects that the body makes invalid.
  // REQUIRES for the functions below: compile() was called.
  void compile();
  const Bundle& bundle() const { return bundle_; }
  // Leaves Draft::rules empty. REQUIRES: the kind belongs to a tenant.
  Draft draft(std::vector<store::ExtraColumn> extra = {}) const;
  // `id` and `document` are those of the object as it will be stored. Do not call bundle() or draft() afterwards,
  // because the bundle moves into the rules.
  counters::RulesPtr take_rules(const std::string& id, const std::string& document);

 private:
  [[noreturn]] void refuse(Faults faults) const;

  postgres::Transaction& tx_;
  const Kind kind_;
  const json::Value& body_;
  const std::string tenant_id_;
  std::array<std::map<std::string, std::string, std::less<>>, kKinds> documents_;  // by kind, then id
  std::string organization_id_;
  std::vector<std::pair<std::string, std::string>> own_faults_;  // member, text
  Bundle bundle_;
  Faults notes_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  std::int64_t compiled_us_ = 0;
};

void DraftCompiler::compile() {
  BundleBuilder builder(&policy::check_expression);
  json::Tree tree;
  for (const Kind kind : kAllKinds) {
    const auto& documents = documents_[static_cast<std::size_t>(kind)];
    builder.expect(kind, documents.size() + (kind == kind_ ? 1 : 0));
    const json::Place root;
    const json::Place list = root.member(info(kind).plural);
    std::size_t index = 0;
    if (kind == kind_) {
      builder.set_author(Author::person);
      builder.read(kind, body_, list.item(index++));
      builder.set_author(Author::sluice);
      for (const auto& [member, text] : own_faults_) builder.faults().add(list.item(0), member, text);
    }
    for (const auto& [id, document] : documents) {
      builder.read(kind, tree.parse(document).value(), list.item(index++));
      tree.clear();
    }
  }
  if (builder.faults().count() != 0) refuse(builder.faults().take());
  notes_ = builder.faults().take_notes();
  bundle_ = builder.take();
  compiled_us_ = SystemClock().now_us();
  auto built = policy::build_snapshot(bundle_, 0, compiled_us_);
  if (!built) refuse(std::move(built.error()));
  snapshot_ = std::move(*built);
}

Draft DraftCompiler::draft(std::vector<store::ExtraColumn> extra) const {
  const BundleListAccess& access = list_access(kind_);
  const ObjectIdView id = access.id(bundle_, 0);
  Faults warnings = warnings_about_body(bundle_, kind_, compiled_us_, notes_);
  std::ranges::move(notes_on_algorithms(body_), std::back_inserter(warnings));
  return {.key = {kind_, std::string(id.tenant_id), std::string(id.id)},
          .organization_id = organization_id_,
          .document = canonical(bundle_, kind_, 0),
          .extra = std::move(extra),
          .warnings = std::move(warnings)};
}

counters::RulesPtr DraftCompiler::take_rules(const std::string& id, const std::string& document) {
  add(kind_, id, document);
  const auto take = [this](Kind kind) { return std::move(documents_[static_cast<std::size_t>(kind)]); };
  counters::RulesSources sources{.organization_id = organization_id_,
                                 .tenant_id = tenant_id_,
                                 .plans = take(Kind::plan),
                                 .policies = take(Kind::policy),
                                 .overrides = take(Kind::override_)};
  return std::make_shared<const counters::Rules>(std::move(sources), std::move(bundle_), std::move(snapshot_),
                                                 compiled_us_);
}

void DraftCompiler::refuse(Faults faults) const {
  const std::string own = fmt::format("/{}/0", info(kind_).plural);
  Faults own_faults;
  Faults other_faults;
  for (Fault& fault : faults) {
    if (fault.pointer == own || fault.pointer.starts_with(own + "/")) {
      fault.pointer.erase(0, own.size());
      own_faults.push_back(std::move(fault));
    } else {
      other_faults.push_back({"", fmt::format("this would make {} invalid: {}", fault.pointer, fault.text)});
    }
  }
  http::refuse_faults(422, own_faults.empty() ? std::move(other_faults) : std::move(own_faults));
}

// The SHA-256 as an SQL value of type bytea.
std::string digest_text(const std::string& text) {
  const Sha256Digest digest = sha256(text);
  return postgres::bytea({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// Limits the number of a tenant's policies with a scope that the policy index cannot use.
void check_unindexed(postgres::Transaction& tx, const Policy& item) {
  if (policy::is_indexable(policy::compile_scope(item.scope))) return;
  // Without this lock, two concurrent calls could exceed the limit together.
  store::find(tx, Kind::tenant, "", item.tenant_id, store::Lock::update);
  const pqxx::result rows =
      tx.exec("SELECT count(*) FROM policies WHERE tenant_id = $1 AND unindexed AND id <> $2", item.tenant_id, item.id);
  if (rows[0][0].as<std::size_t>() < policy::kMaxUnindexedPolicies) return;
  http::refuse_fault(
      422, "/scope",
      fmt::format("tenant {} already has {} policies that no index can find, because their scopes name only org, "
                  "tenant or \"*\"; every request is matched against all of them. Name another dimension",
                  quoted(item.tenant_id), policy::kMaxUnindexedPolicies));
}

Faults conflict_warnings(postgres::Transaction& tx, const Policy& item) {
  const pqxx::result rows = tx.exec(
      fmt::format(
          "SELECT id FROM policies WHERE tenant_id = $1 AND place = $2::bytea AND id <> $3 AND coalesce(document "
          "->> 'enabled', 'true') = 'true' ORDER BY id LIMIT {}",
          kMaxConflicts),
      item.tenant_id, digest_text(policy::competition_key(item)), item.id);
  Faults found;
  if (!item.enabled) return found;
  for (const auto& row : rows) {
    found.push_back(
        {"", fmt::format("conflicts with policy {}: both apply to the same requests with the same priority, "
                         "so only version and id decide; give one a priority, or remove it",
                         row[0].c_str())});
  }
  return found;
}

// Refuses a second override for the same limit and identity. `target` is the hash of target_of(item). An expired
// override counts until the server removes it.
void check_target(postgres::Transaction& tx, const Override& item, const std::string& target) {
  const pqxx::result rows = tx.exec(
      "SELECT id, coalesce(expires_at <= now(), false) FROM overrides WHERE tenant_id = $1 AND target = $2::bytea "
      "AND id <> $3",
      item.tenant_id, target, item.id);
  if (rows.empty()) return;
  const std::string text =
      fmt::format("override {} is for the same limit and the same identity: {}", quoted(rows[0][0].c_str()),
                  rows[0][1].as<bool>() ? "it has expired and will be removed within seconds, so try again then"
                                        : "change that one, or delete it");
  throw http::Refusal(409, "exists", text, {{"/identity", text}});
}

}  // namespace

std::string canonical(const Bundle& bundle, Kind kind, std::size_t index) {
  return canonical(bundle, [&](json::Writer& out, const Bundle& all) { list_access(kind).write(out, all, index); });
}

std::vector<store::ExtraColumn> policy_columns(const Policy& policy) {
  const bool indexable = policy::is_indexable(policy::compile_scope(policy.scope));
  // Two policies with the same "place" conflict.
  return {{"place", "bytea", digest_text(policy::competition_key(policy))},
          {"unindexed", "boolean", indexable ? "false" : "true"}};
}

std::vector<store::ExtraColumn> override_columns(const Override& item) {
  return {{"target", "bytea", digest_text(target_of(item))},
          {"expires_at", "timestamptz",
           item.expires_at ? std::optional(format_timestamp(*item.expires_at)) : std::nullopt}};
}

std::optional<std::string> reserved_id_fault(const Override& item) {
  if (item.id != "clear") return std::nullopt;
  return "an override cannot be called \"clear\": POST /v1/admin/overrides/clear removes many; choose another id";
}

Draft draft_organization(postgres::Transaction& tx, const json::Value& body) {
  DraftCompiler compiler(tx, Kind::organization, body);
  compiler.compile();
  const Organization& item = compiler.bundle().organizations.front();
  return {.key = {Kind::organization, "", item.id},
          .organization_id = item.id,
          .document = canonical(compiler.bundle(), Kind::organization, 0),
          .extra = {},
          .warnings = {}};
}

Draft draft_tenant(postgres::Transaction& tx, const json::Value& body) {
  DraftCompiler compiler(tx, Kind::tenant, body);
  const json::Value* const given = body.find("organization_id");
  // The reader of bundles accepts tenants without an organization.
  if (given == nullptr || given->type() == json::Type::null) {
    compiler.add_fault("organization_id", "organization_id is missing: every tenant belongs to an organization");
  } else if (const auto found = store::find(tx, Kind::organization, "", body.text_of("organization_id"))) {
    compiler.add(Kind::organization, found->key.id, found->document);
  }
  compiler.compile();
  const Tenant& item = compiler.bundle().tenants.front();
  return {.key = {Kind::tenant, item.id, item.id},
          .organization_id = item.organization_id,
          .document = canonical(compiler.bundle(), Kind::tenant, 0),
          .extra = {},
          .warnings = {}};
}

Draft draft_in_tenant(postgres::Transaction& tx, Kind kind, const json::Value& body) {
  DraftCompiler compiler(tx, kind, body);
  compiler.add_tenant();
  compiler.compile();
  return compiler.draft();
}

Draft draft_plan(postgres::Transaction& tx, const json::Value& body) {
  DraftCompiler compiler(tx, Kind::plan, body);
  const std::string tenant_id(body.text_of("tenant_id"));
  const std::string id(body.text_of("id"));
  compiler.add_tenant();
  compiler.add(tx.exec("SELECT id, document FROM policies WHERE tenant_id = $1 AND plan_id = $2", tenant_id, id),
               Kind::policy);
  compiler.add(tx.exec("SELECT o.id, o.document FROM overrides o WHERE tenant_id = $1 AND (plan_id = $2 OR "
                       "policy_id IN (SELECT id FROM policies WHERE tenant_id = $1 AND plan_id = $2))",
                       tenant_id, id),
               Kind::override_);
  compiler.compile();
  check_plan_budget(tx, {Kind::plan, tenant_id, id}, compiler.bundle().plans.front().limits);
  Draft draft = compiler.draft();
  draft.rules = compiler.take_rules(draft.key.id, draft.document);
  return draft;
}

Draft draft_policy(postgres::Transaction& tx, const json::Value& body) {
  DraftCompiler compiler(tx, Kind::policy, body);
  const std::string tenant_id(body.text_of("tenant_id"));
  const std::string plan_id(body.text_of("plan_id"));
  compiler.add_tenant();
  compiler.add_plan(plan_id);
  // If the policy has the action delay, the numbers of the plan's overrides must fit the policy's max_delay.
  compiler.add(tx.exec("SELECT id, document FROM overrides WHERE tenant_id = $1 AND (policy_id = $2 OR plan_id = $3)",
                       tenant_id, std::string(body.text_of("id")), plan_id),
               Kind::override_);
  compiler.compile();
  const Policy& item = compiler.bundle().policies.front();
  check_unindexed(tx, item);
  check_plan_budget(tx, {Kind::policy, item.tenant_id, item.id}, item.limits);
  Draft draft = compiler.draft(policy_columns(item));
  for (Fault& conflict : conflict_warnings(tx, item)) draft.warnings.push_back(std::move(conflict));
  draft.rules = compiler.take_rules(draft.key.id, draft.document);
  return draft;
}

Draft draft_override(postgres::Transaction& tx, const json::Value& body) {
  DraftCompiler compiler(tx, Kind::override_, body);
  const std::string plan_id(body.text_of("plan_id"));
  compiler.add_tenant();
  if (const std::string_view policy_id = body.text_of("policy_id"); !policy_id.empty()) {
    compiler.add_policy(policy_id);
  }
  if (!plan_id.empty()) {
    compiler.add_plan(plan_id);
    // If a policy on the plan has the action delay, the override's numbers must fit the policy's max_delay.
    compiler.add(tx.exec("SELECT id, document FROM policies WHERE tenant_id = $1 AND plan_id = $2",
                         std::string(body.text_of("tenant_id")), plan_id),
                 Kind::policy);
  }
  compiler.compile();
  const Override& item = compiler.bundle().overrides.front();
  if (auto reserved = reserved_id_fault(item)) http::refuse_fault(422, "/id", std::move(*reserved));
  check_target(tx, item, digest_text(target_of(item)));
  Draft draft = compiler.draft(override_columns(item));
  draft.rules = compiler.take_rules(draft.key.id, draft.document);
  return draft;
}

}  // namespace sluice::server::admin
