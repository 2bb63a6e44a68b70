#include "server/admin/overrides_api.hpp"

#include <fmt/core.h>

#include "common/base/duration.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/objects/references.hpp"
#include "server/admin/objects_api.hpp"
#include "server/admin/paging.hpp"
#include "server/counters/outbox.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

constexpr Micros kLongestTtl = std::chrono::days(36'500);

// Returns nullopt if `ttl` is invalid.
std::optional<WallTime> end_of(std::string_view ttl, std::int64_t now_us) {
  const auto duration = parse_written_duration(ttl);
  if (!duration || *duration < std::chrono::milliseconds(1) || *duration > kLongestTtl) return std::nullopt;
  return WallTime(Micros(now_us)) + *duration;
}

// Replaces `ttl`, or its other name `override_ttl`, by `expires_at`. Drops `published`, so that the answer to a GET can
// be the body of a PUT.
json::Value translate_ttl(Context& context, json::Tree& tree, const json::Value& body, Remarks& remarks) {
  Faults& faults = remarks.faults;
  static constexpr std::array<std::string_view, 3> kDropped{"ttl", "override_ttl", "published"};
  const std::string_view name = is_given(body, "ttl") ? "ttl" : "override_ttl";
  const json::Value* const ttl = body.find(name);
  if (is_given(body, "ttl") && is_given(body, "override_ttl")) {
    faults.push_back({"/override_ttl", "ttl and override_ttl say the same: keep one"});
  }
  const json::Value* const given = body.find("expires_at");
  if (given != nullptr && given->type() == json::Type::string) {
    const auto end = parse_timestamp(given->text());
    if (end && end->time_since_epoch().count() <= context.now_us) {
      faults.push_back({"/expires_at", "is in the past: the override would never apply"});
    }
  }
  if (ttl == nullptr || ttl->type() == json::Type::null) return json::edited(tree, body, kDropped);
  const bool is_duration = ttl->type() == json::Type::string || ttl->type() == json::Type::number;
  const auto end = is_duration ? end_of(ttl->text(), context.now_us) : std::nullopt;
  if (!end)
    faults.push_back({fmt::format("/{}", name),
                      "must be a duration from 1ms to 36500d, such as \"24h\", or a whole number of seconds"});
  if (given != nullptr && given->type() != json::Type::null) {
    faults.push_back({fmt::format("/{}", name), fmt::format("{} and expires_at are both given: leave one out", name)});
  }
  if (!end || !faults.empty()) return json::edited(tree, body, kDropped);
  if (auto doubt = note_on_milliseconds(ttl->text())) {
    remarks.warnings.push_back({fmt::format("/{}", name), *std::move(doubt)});
  }
  const json::Member expires_at{"expires_at", tree.string(format_timestamp(*end))};
  return json::edited(tree, body, kDropped, {&expires_at, 1});
}

const Resource kOverrides{Kind::override_, "/v1/admin/overrides", &draft_override, &id_from_name<Kind::override_>,
                          &translate_ttl};

// Whether Redis has the override as it was stored before this call.
bool is_published(Context& context, const store::StoredObject& item) {
  return counters::unpublished(context.tx, {&item, 1}).empty();
}

// After a change, sets `published` to true; the executor corrects it if publication fails. If the call changed nothing,
// an earlier change may not be published yet.
Answer with_published(Context& context, Answer answer) {
  answer.published =
      !context.log.empty() || is_published(context, require(context, Kind::override_, store::Lock::none));
  return answer;
}

struct ClearSelection {
  std::string tenant_id;
  std::string policy_id;
  std::string plan_id;
};

ClearSelection read_clear_selection(Context& context) {
  json::Tree tree;
  const json::Value body = read_body(context.call, tree);
  json::FaultList faults;
  const json::Place root;
  json::Fields fields(body, root, faults);
  // read_optional_id() refuses an empty id. Otherwise an empty `policy_id` would remove all overrides of the tenant.
  ClearSelection cleared{.tenant_id = read_optional_id(fields, "tenant_id"),
                         .policy_id = read_optional_id(fields, "policy_id"),
                         .plan_id = read_optional_id(fields, "plan_id")};
  if (cleared.tenant_id.empty()) cleared.tenant_id = tenant_of(context, Kind::override_);
  if (cleared.tenant_id.empty()) fields.require("tenant_id", "the tenant whose overrides are removed");
  if (!cleared.policy_id.empty() && !cleared.plan_id.empty()) {
    fields.fault("plan_id", "policy_id and plan_id are both given: an override belongs to one of them");
  }
  fields.reject_unknown();
  if (faults.count() != 0) http::refuse_faults(422, faults.take());
  return cleared;
}

void require_known(Context& context, Kind kind, const std::string& tenant, const std::string& id) {
  if (!id.empty() && !store::find(context.tx, kind, tenant, id)) refuse_unknown(context, kind, tenant, id);
}

}  // namespace

counters::Publisher& require_publisher(Context& context) {
  if (context.publisher != nullptr) return *context.publisher;
  throw http::Refusal(503, "no-counters",
                      "This server has no Redis, so it has no counters and no overrides: start it with --counters "
                      "redis://HOST:PORT/DB, the agents' Redis.");
}

Answer list_overrides(Context& context) {
  require_publisher(context);
  std::vector<store::Filter> filters;
  for (const auto& [parameter, sql] : {std::pair{"tenant_id", "tenant_id = $"}, std::pair{"policy_id", "policy_id = $"},
                                       std::pair{"plan_id", "plan_id = $"}}) {
    const std::string_view value = context.call.parameter(parameter);
    if (!value.empty()) filters.push_back({sql, std::string(value)});
  }
  const store::Page page = read_page(context.call);
  std::vector<store::StoredObject> found = store::list(context.tx, Kind::override_, filters, page);
  const std::string next = cut_page(found, page);
  const auto waiting = counters::unpublished(context.tx, found);
  return list_answer(next, [&](json::Writer& out) {
    for (const store::StoredObject& item : found) {
      out.begin_object();
      write_members(out, item);
      out.field("published", !waiting.contains({item.key.tenant_id, item.key.id}));
      out.end_object();
    }
  });
}

Answer get_override(Context& context) {
  require_publisher(context);
  Answer answer = get_object(context, Kind::override_);
  if (answer.status == 200)
    answer.published = is_published(context, require(context, Kind::override_, store::Lock::none));
  return answer;
}

Answer create_override(Context& context) {
  require_publisher(context);
  Answer answer = create_object(context, kOverrides);
  answer.published = true;
  return answer;
}

Answer put_override(Context& context) {
  require_publisher(context);
  return with_published(context, put_object(context, kOverrides));
}

Answer patch_override(Context& context) {
  require_publisher(context);
  return with_published(context, patch_object(context, kOverrides));
}

Answer delete_override(Context& context) {
  require_publisher(context);
  delete_object(context, Kind::override_);
  Answer answer;
  answer.object = open_object();
  answer.published = true;
  return answer;
}

Answer clear_overrides(Context& context) {
  require_publisher(context);
  const ClearSelection wanted = read_clear_selection(context);
  require_known(context, Kind::tenant, wanted.tenant_id, wanted.tenant_id);
  require_known(context, Kind::policy, wanted.tenant_id, wanted.policy_id);
  require_known(context, Kind::plan, wanted.tenant_id, wanted.plan_id);
  std::vector<store::Filter> filters{{"tenant_id = $", wanted.tenant_id}};
  if (!wanted.policy_id.empty()) filters.push_back({"policy_id = $", wanted.policy_id});
  if (!wanted.plan_id.empty()) filters.push_back({"plan_id = $", wanted.plan_id});
  const std::vector<store::StoredObject> removed = store::remove_all(context.tx, Kind::override_, filters);
  for (const store::StoredObject& item : removed) context.log.removed("delete", item);
  Answer answer;
  answer.object = open_object();
  answer.object->field("cleared", static_cast<std::int64_t>(removed.size()));
  answer.published = true;
  return answer;
}

}  // namespace sluice::server::admin
