// Reading the top level of a bundle. Tenants come first, then what belongs to them, and overrides last: each part is
// read when all it may refer to is known, whatever the order in the text.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "common/domain/bundle.hpp"
#include "common/domain/credential.hpp"
#include "common/domain/enforcement_json.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/fault_place.hpp"
#include "common/domain/override_json.hpp"
#include "common/domain/policy_json.hpp"
#include "common/domain/references.hpp"

namespace sluice {
namespace {

constexpr std::string_view kFormat = "sluice/v1";
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kMaxHashBytes = 256;
constexpr std::size_t kMinSaltBytes = 16;

class BundleReader {
 public:
  explicit BundleReader(ExpressionCheck check) : check_(check) {}

  std::expected<Bundle, Faults> read(const JsonValue& document) {
    const Place root;
    Fields top(document, root, faults_);
    if (top.is_object()) read_top(top);
    if (faults_.count() != 0) return std::unexpected(faults_.take());
    return std::move(bundle_);
  }

 private:
  void read_top(Fields& top) {
    read_format(top);
    if (const auto mode = top.choice("mode", &mode_from, kModeNames)) bundle_.mode = *mode;
    read_list(top, "organizations", bundle_.organizations,
              [this](Fields& fields, Organization& item, std::size_t i) { read_organization(fields, item, i); });
    const JsonValue* const tenants = top.take("tenants");
    if (tenants != nullptr && tenants->type() == JsonType::array) tenants_.set_count(tenants->items().size());
    read_list(top, "tenants", bundle_.tenants,
              [this](Fields& fields, Tenant& item, std::size_t) { read_tenant(fields, item); });
    read_list(top, "plans", bundle_.plans,
              [this](Fields& fields, Plan& item, std::size_t i) { index_plan(fields, item, i); });
    read_list(top, "policies", bundle_.policies,
              [this](Fields& fields, Policy& item, std::size_t i) { index_policy(fields, item, i); });
    read_list(top, "keys", bundle_.keys,
              [this](Fields& fields, ApiKey& item, std::size_t i) { read_key(fields, item, i); });
    read_list(top, "overrides", bundle_.overrides,
              [this](Fields& fields, Override& item, std::size_t i) { index_override(fields, item, i); });
    top.reject_unknown();
  }

  void read_format(Fields& top) {
    top.require("format", fmt::format("a bundle starts with \"format\":\"{}\"", kFormat));
    const auto format = top.text("format", kMaxNameBytes);
    if (format && *format != kFormat) {
      top.fault("format", fmt::format("format {} is not known: this version reads \"{}\"", quoted(*format), kFormat));
    }
  }

  template <class Item, class Read>
  void read_list(Fields& top, std::string_view name, std::vector<Item>& out, Read read) {
    const JsonValue* const list = top.take(name);
    if (list != nullptr && list->type() == JsonType::array) out.reserve(list->items().size());
    top.each(name, false, [&](const JsonValue& value, const Place& at) {
      Item& item = out.emplace_back();
      Fields fields(value, at, faults_);
      if (fields.is_object()) read(fields, item, out.size() - 1);
    });
  }

  void read_organization(Fields& fields, Organization& item, std::size_t i) {
    item.id = read_id(fields, "organization");
    if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
    organizations_.add(fields, "", item.id, {.index = i});
    fields.reject_unknown();
  }

  void read_tenant(Fields& fields, Tenant& item) {
    item.id = read_id(fields, "tenant");
    if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
    if (const auto id = fields.text("organization_id", kMaxNameBytes)) {
      item.organization_id = *id;
      if (organizations_.find("", *id) == nullptr) {
        fields.fault("organization_id",
                     fmt::format("organization {} does not exist: add it to organizations", quoted(*id)));
      }
    }
    if (const auto mode = fields.choice("mode", &mode_from, kModeNames)) item.mode = *mode;
    if (const auto answer = fields.text("default", kMaxNameBytes)) {
      item.default_deny = *answer == "deny";
      if (*answer != "deny" && *answer != "allow") {
        fields.fault("default", "default is what a request gets that no policy matches: allow or deny");
      }
    }
    if (const auto plan_calls = fields.boolean("plan_calls")) item.plan_calls = *plan_calls;
    tenants_.add(fields, item.id);
    fields.reject_unknown();
  }

  void index_plan(Fields& fields, Plan& item, std::size_t i) {
    const std::size_t faults_before = faults_.count();
    read_plan(fields, tenants_, item);
    if (item.tenant_id.empty()) return;
    plans_.add(fields, item.tenant_id, item.id, {.index = i, .sound = faults_.count() == faults_before});
  }

  void index_policy(Fields& fields, Policy& item, std::size_t i) {
    const std::size_t faults_before = faults_.count();
    read_policy(fields, tenants_, item);
    if (check_ != nullptr && !item.match_expr.empty()) {
      if (auto wrong = check_(item.match_expr)) fields.fault("match_expr", std::move(*wrong));
    }
    if (item.tenant_id.empty()) return;
    if (!item.plan_id.empty()) check_plan(fields, item, faults_.count() == faults_before);
    policies_.add(fields, item.tenant_id, item.id, {.index = i, .sound = faults_.count() == faults_before});
  }

  void check_plan(Fields& fields, const Policy& policy, bool sound) {
    IdIndex::Entry* const plan = plans_.find(policy.tenant_id, policy.plan_id);
    if (plan == nullptr) {
      fields.fault("plan_id", fmt::format("plan {} does not exist in tenant {}", quoted(policy.plan_id),
                                          quoted(policy.tenant_id)));
      return;
    }
    if (!sound || !plan->sound) return;
    check_enforcement(fields, policy.enforcement, bundle_.plans[plan->index].limits, false);
    if (policy.enforcement.action == Action::delay) {
      plan->longest_delay = std::max(plan->longest_delay, policy.enforcement.max_delay);
    }
  }

  void read_key(Fields& fields, ApiKey& item, std::size_t i) {
    item.tenant_id = tenants_.read_tenant_id(fields);
    item.id = read_id(fields, "key");
    if (const auto name = fields.text("name", kMaxNameBytes)) item.name = *name;
    static constexpr std::string_view kShape =
        "sha256:<32 to 64 hex digits of salt>:<64 hex digits>, as mint-key prints it; never the key itself";
    fields.require("key_hash", kShape);
    if (const auto hash = fields.text("key_hash", kMaxHashBytes)) {
      const auto parsed = parse_key_hash(*hash);
      if (!parsed || parsed->salt_size < kMinSaltBytes)
        fields.fault("key_hash", fmt::format("key_hash must be {}", kShape));
      item.key_hash = *hash;
      std::ranges::transform(item.key_hash, item.key_hash.begin(),
                             [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
    }
    item.expires_at = fields.timestamp("expires_at");
    keys_.add(fields, "", item.id, {.index = i});
    fields.reject_unknown();
  }

  void index_override(Fields& fields, Override& item, std::size_t i) {
    const std::size_t faults_before = faults_.count();
    read_override(fields, tenants_, {bundle_.plans, bundle_.policies, plans_, policies_}, item);
    if (item.tenant_id.empty()) return;
    overrides_.add(fields, item.tenant_id, item.id, {.index = i});
    if (faults_.count() == faults_before) check_single(fields, item);
  }

  // Two overrides of one limit for one identity would contradict each other.
  void check_single(Fields& fields, const Override& item) {
    const auto [other, is_new] = targets_.try_emplace(target_of(item), item.id);
    if (is_new) return;
    fields.fault("identity",
                 fmt::format("override {} replaces numbers of the same limit for the same identity: keep one",
                             quoted(other->second)));
  }

  ExpressionCheck check_;
  Bundle bundle_;
  FaultList faults_;
  TenantIndex tenants_;
  IdIndex organizations_{"organization"};
  IdIndex plans_{"plan"};
  IdIndex policies_{"policy"};
  IdIndex keys_{"key"};
  IdIndex overrides_{"override"};
  std::unordered_map<std::string, std::string> targets_;  // of an override → its id
};

}  // namespace

std::expected<Bundle, Faults> parse_bundle(std::string_view json, ExpressionCheck check) {
  JsonTree tree;
  const auto document = tree.parse(json);
  if (!document) return std::unexpected(Faults{document.error()});
  auto bundle = read_bundle(*document, check);
  if (!bundle) locate_faults(json, bundle.error());
  return bundle;
}

std::expected<Bundle, Faults> read_bundle(const JsonValue& document, ExpressionCheck check) {
  return BundleReader(check).read(document);
}

}  // namespace sluice
