#include "server/admin/objects_api.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/merge_patch.hpp"
#include "common/objects/limit_json.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::admin {
namespace {

// "Pro plan!" → "pro-plan"; "" if no character is usable.
std::string slug(std::string_view name) {
  std::string id;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (identifiers::is_alnum(c)) {
      id += c;
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
    if (id.size() == kMaxIdBytes) break;
  }
  while (id.ends_with('-')) id.pop_back();
  return id;
}

// Returns "" for a shorthand policy: draft_policy() makes its id from the content.
std::string policy_id(postgres::Transaction& tx, std::string_view tenant_id, const json::Value& body) {
  json::FaultList ignored;
  const json::Place root;
  json::Fields fields(body, root, ignored);
  const bool shorthand = !fields.present("limits") && has_flat_limit(fields);
  return shorthand ? std::string() : id_from_name<Kind::policy>(tx, tenant_id, body);
}

// Replaces `policy_id`, another name of `id`.
json::Value translate_policy(Context& /*context*/, json::Tree& tree, const json::Value& body, Remarks& remarks) {
  static constexpr std::array<std::string_view, 1> kDropped{"policy_id"};
  if (!is_given(body, "policy_id")) return json::edited(tree, body, kDropped);
  if (is_given(body, "id")) {
    remarks.faults.push_back({"/policy_id", "id and policy_id say the same: keep one"});
    return json::edited(tree, body, kDropped);
  }
  const json::Member id{"id", *body.find("policy_id")};
  return json::edited(tree, body, kDropped, {&id, 1});
}

// New tenants get "same". A tenant that exists keeps what it has, also if it has nothing: then it has "distinct".
json::Value complete_tenant(Context& /*context*/, json::Tree& tree, const json::Value& body,
                            const store::StoredObject* before, std::optional<Secret>& /*secret*/,
                            Remarks& /*remarks*/) {
  constexpr std::string_view kSlash = "trailing_slash";
  if (is_given(body, kSlash)) return body;
  if (before == nullptr) {
    const json::Member same{kSlash, tree.string("same")};
    return json::edited(tree, body, {}, {&same, 1});
  }
  const json::Value stored = tree.parse(before->document).value();
  const json::Value* const kept = stored.find(kSlash);
  if (kept == nullptr) return body;
  const json::Member member{kSlash, *kept};
  return json::edited(tree, body, {}, {&member, 1});
}

void refuse_taken(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view id) {
  if (!store::find(tx, kind, tenant_id, id)) return;
  throw http::Refusal(
      409, "exists",
      fmt::format("{} {} exists already: choose another id, or replace it with PUT.", info(kind).name, quoted(id)));
}

// GitOps applies the same body again and again: it must not change an object that was stored with another default.
json::Value keep_requirement(Context& /*context*/, json::Tree& tree, const json::Value& body,
                             const store::StoredObject* before, std::optional<Secret>& /*secret*/,
                             Remarks& /*remarks*/) {
  static constexpr std::string_view kRequireKeyBy = "require_key_by";
  if (before == nullptr || is_given(body, kRequireKeyBy)) return body;
  const json::Member kept{kRequireKeyBy, json::Value(store::requires_key_by(before->document))};
  return json::edited(tree, body, {}, {&kept, 1});
}

struct BodyReader {
  Context& context;
  const Resource& resource;
  json::Tree tree{};
  Remarks remarks{};

  json::Value read() {
    const json::Value body = read_body(context.call, tree);
    return resource.translate == nullptr ? body : resource.translate(context, tree, body, remarks);
  }

  json::Value complete(const json::Value& body, const store::StoredObject* before, std::optional<Secret>& secret) {
    return resource.complete == nullptr ? body : resource.complete(context, tree, body, before, secret, remarks);
  }

  // A refusal lists the faults of the Resource's translate, complete and draft together.
  Draft draft(const json::Value& body) {
    std::optional<Draft> made;
    try {
      made = resource.draft(context.tx, body);
    } catch (http::Refusal& refusal) {
      if (refusal.status != 422 || remarks.faults.empty()) throw;
      std::ranges::move(refusal.faults, std::back_inserter(remarks.faults));
    }
    if (!remarks.faults.empty()) http::refuse_faults(422, std::move(remarks.faults));
    std::ranges::move(remarks.warnings, std::back_inserter(made->warnings));
    return std::move(*made);
  }
};

}  // namespace

std::string unique_id(postgres::Transaction& tx, Kind kind, std::string_view tenant_id, std::string_view name) {
  std::string id = slug(name);
  const bool may_differ = kind == Kind::binding || kind == Kind::group_mapping;
  if (id.empty() || (may_differ && store::find(tx, kind, tenant_id, id))) id = store::random_id(kind);
  return id;
}

const Resource kOrganizations{Kind::organization, "/v1/admin/organizations", &draft_organization,
                              &id_from_name<Kind::organization>};
const Resource kTenants{Kind::tenant, "/v1/admin/tenants", &draft_tenant, &id_from_name<Kind::tenant>,
                        nullptr,      &complete_tenant};
const Resource kPlans{Kind::plan, "/v1/admin/plans", &draft_plan, &id_from_name<Kind::plan>,
                      nullptr,    &keep_requirement};
const Resource kPolicies{Kind::policy, "/v1/admin/policies", &draft_policy,
                         &policy_id,   &translate_policy,    &keep_requirement};

Answer list_objects(Context& context, Kind kind, const std::vector<store::Filter>& filters) {
  const store::Page page = read_page(context.call);
  std::vector<store::StoredObject> found = store::list(context.tx, kind, filters, page);
  const std::string next = cut_page(found, page);
  return list_answer(next, [&found](json::Writer& out) {
    for (const store::StoredObject& object : found) {
      out.begin_object();
      write_members(out, object);
      out.end_object();
    }
  });
}

Answer create_object(Context& context, const Resource& resource) {
  BodyReader reader{context, resource};
  const json::Value given = reader.read();
  std::string tenant = body_tenant(context, given, resource.kind);
  if (tenant.empty() && info(resource.kind).local_id) tenant = only_tenant(context.tx);
  const std::string id = is_given(given, "id") ? std::string() : resource.make_id(context.tx, tenant, given);
  // The body must not be judged as a change of the object that has this id.
  const std::string_view wanted = id.empty() ? given.text_of("id") : id;
  if (!wanted.empty() && (!id.empty() || info(resource.kind).in_tenant()))
    refuse_taken(context.tx, resource.kind, tenant, wanted);
  std::optional<Secret> secret;
  const json::Value body = reader.complete(with_ids(reader.tree, given, resource.kind, tenant, id), nullptr, secret);
  const Draft draft = reader.draft(body);
  refuse_taken(context.tx, resource.kind, draft.key.tenant_id, draft.key.id);
  check_conditions(context.call, nullptr);
  Answer answer = insert_draft(context, draft, resource.collection);
  answer.secret = std::move(secret);
  return answer;
}

Answer get_object(Context& context, Kind kind) {
  const store::StoredObject found = require(context, kind, store::Lock::none);
  if (!has_current_version(context.call, found)) return show(found);
  Answer answer;
  answer.status = 304;
  answer.headers = fmt::format("ETag: {}\r\n", etag(found));
  return answer;
}

Answer put_object(Context& context, const Resource& resource) {
  BodyReader reader{context, resource};
  const json::Value given = reader.read();
  const std::string& id = context.call.path_values.front();
  const std::string tenant = body_tenant(context, given, resource.kind);
  const auto before = store::find(context.tx, resource.kind, tenant, id, store::Lock::update);
  check_conditions(context.call, before ? &*before : nullptr);
  std::optional<Secret> secret;
  const json::Value body =
      reader.complete(with_ids(reader.tree, given, resource.kind, tenant, id), before ? &*before : nullptr, secret);
  const Draft draft = reader.draft(body);
  if (before) return store(context, draft, *before, "update");
  Answer answer = insert_draft(context, draft, resource.collection);
  answer.secret = std::move(secret);
  return answer;
}

Answer patch_object(Context& context, const Resource& resource) {
  BodyReader reader{context, resource};
  const json::Value patch = reader.read();
  const store::StoredObject before = require(context, resource.kind, store::Lock::update);
  check_conditions(context.call, &before);
  const json::Value old = reader.tree.parse(store::shown_document(resource.kind, before.document)).value();
  const json::Value body = json::merged(reader.tree, old, patch);
  const Draft draft = reader.draft(with_ids(reader.tree, body, resource.kind, before.key.tenant_id, before.key.id));
  return store(context, draft, before, "update");
}

Answer delete_object(Context& context, Kind kind) {
  const store::StoredObject before = require(context, kind, store::Lock::update);
  check_conditions(context.call, &before);
  return remove_object(context, before);
}

}  // namespace sluice::server::admin
