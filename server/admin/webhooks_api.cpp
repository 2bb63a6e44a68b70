#include "server/admin/webhooks_api.hpp"

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/timestamp.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/merge_patch.hpp"
#include "server/admin/paging.hpp"
#include "server/http/refusal.hpp"
#include "server/store/statement.hpp"
#include "server/webhooks/outbox.hpp"
#include "server/webhooks/setup.hpp"
#include "server/webhooks/webhook.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::string_view kCollection = "/v1/admin/webhooks";
constexpr std::string_view kSecretMember = "secret";
constexpr std::size_t kMaxWebhooks = 20;  // of a tenant
constexpr int kOverlapHours = 24;
constexpr std::array<std::string_view, 3> kStatuses{"pending", "delivered", "dead"};

const webhooks::Setup& require_setup(const Context& context) {
  if (context.webhooks != nullptr) return *context.webhooks;
  throw http::Refusal(503, "no-webhooks",
                      "This server sends no webhooks to customers: it was started without --notify-secret-file. Start "
                      "every server with the flag and the same file.");
}

Draft make_draft(Context& context, const json::Value& body) {
  Faults faults;
  webhooks::Webhook webhook = webhooks::read_webhook(body, require_setup(context).rules, faults);
  Draft draft{.key = {Kind::webhook, webhook.tenant_id, webhook.id},
              .organization_id = {},
              .document = webhooks::write_webhook(webhook),
              .extra = {},
              .warnings = {}};
  if (!webhook.tenant_id.empty()) {
    const auto tenant = store::find(context.tx, Kind::tenant, "", webhook.tenant_id, store::Lock::share);
    if (tenant) {
      draft.organization_id = tenant->organization_id;
    } else {
      faults.push_back({"/tenant_id", fmt::format("there is no tenant \"{}\"", webhook.tenant_id)});
    }
  }
  if (!faults.empty()) http::refuse_faults(422, std::move(faults));
  return draft;
}

// The share lock of the tenant, which make_draft() has taken, does not keep two calls apart, so a tenant may get a few
// more. That costs nothing but their room.
void check_number(Context& context, const std::string& tenant_id) {
  const auto count =
      context.tx.exec("SELECT count(*) FROM webhooks WHERE tenant_id = $1", tenant_id)[0][0].as<std::size_t>();
  if (count < kMaxWebhooks) return;
  const std::string text =
      fmt::format("the tenant has {} webhooks, and may have {}: delete one that is not used", count, kMaxWebhooks);
  throw http::Refusal(409, "quota-exceeded", text, {{"/tenant_id", text}});
}

std::vector<store::ExtraColumn> secret_columns(const webhooks::SecretRef& secret) {
  return {{"secret_key", "text", secret.key_name}, {"secret_salt", "text", secret.salt}};
}

Secret shown_secret(const Context& context, const ObjectId& key, const webhooks::SecretRef& secret) {
  const webhooks::Keys& keys = require_setup(context).keys;
  return {kSecretMember, webhooks::secret_text(*keys.find(secret.key_name), key.tenant_id, key.id, secret.salt)};
}

json::Value without_secret(json::Tree& tree, const json::Value& body) {
  return json::edited(tree, body, members_to_drop(body, kSecretMember));
}

Answer insert(Context& context, const json::Value& body) {
  Draft draft = make_draft(context, body);
  if (store::find(context.tx, Kind::webhook, draft.key.tenant_id, draft.key.id)) {
    throw http::Refusal(
        409, "exists",
        fmt::format("webhook \"{}\" exists already: choose another id, or replace it with PUT.", draft.key.id));
  }
  check_conditions(context.call, nullptr);
  check_number(context, draft.key.tenant_id);
  const webhooks::SecretRef secret = webhooks::new_secret(require_setup(context).keys);
  draft.extra = secret_columns(secret);
  Answer answer = insert_draft(context, draft, kCollection);
  answer.secret = shown_secret(context, draft.key, secret);
  return answer;
}

constexpr std::string_view kDeliveryColumns =
    "id, type, status, attempts - attempts_before, body, last_status, last_error, last_answer";

// The columns are kDeliveryColumns and the times; see delivery_columns().
void write_delivery(json::Writer& out, const pqxx::row& row) {
  const auto text = [&](std::string_view name, int column) {
    row[column].is_null() ? out.null_field(name) : out.field(name, row[column].c_str());
  };
  out.field("id", row[0].c_str());
  out.field("type", row[1].c_str());
  out.field("status", row[2].c_str());
  out.field("attempts", row[3].as<std::int64_t>());
  text("created_at", 8);
  text("next_attempt_at", 9);
  text("last_attempt_at", 10);
  row[5].is_null() ? out.null_field("http_status") : out.field("http_status", row[5].as<std::int64_t>());
  text("error", 6);
  text("answer", 7);
  out.key("event");
  out.raw(row[4].c_str());
}

std::string delivery_columns() {
  return fmt::format("{}, {}, CASE WHEN status = 'pending' THEN {} END, {}", kDeliveryColumns,
                     store::as_timestamp("created_at"), store::as_timestamp("next_at"), store::as_timestamp("last_at"));
}

store::Statement deliveries_of(const store::StoredObject& webhook) {
  store::Statement query(fmt::format("SELECT {} FROM webhook_deliveries", delivery_columns()));
  query.add(" WHERE tenant_id = $", webhook.key.tenant_id).add(" AND webhook_id = $", webhook.key.id);
  return query;
}

Answer show_delivery(const pqxx::row& row) {
  Answer answer;
  answer.object = open_object();
  write_delivery(*answer.object, row);
  return answer;
}

}  // namespace

Answer list_webhooks(Context& context) {
  std::vector<store::Filter> filters;
  if (const auto tenant = context.call.parameter("tenant_id"); !tenant.empty()) {
    filters.push_back({"tenant_id = $", std::string(tenant)});
  }
  return list_objects(context, Kind::webhook, filters);
}

Answer create_webhook(Context& context) {
  require_setup(context);
  json::Tree tree;
  const json::Value given = without_secret(tree, read_body(context.call, tree));
  std::string tenant = body_tenant(context, given, Kind::webhook);
  if (tenant.empty()) tenant = only_tenant(context.tx);
  std::string id;
  if (!is_given(given, "id")) id = unique_id(context.tx, Kind::webhook, tenant, given.text_of("name"));
  return insert(context, with_ids(tree, given, Kind::webhook, tenant, id));
}

Answer get_webhook(Context& context) { return get_object(context, Kind::webhook); }

Answer put_webhook(Context& context) {
  require_setup(context);
  json::Tree tree;
  const json::Value given = without_secret(tree, read_body(context.call, tree));
  const std::string& id = context.call.path_values.front();
  const std::string tenant = body_tenant(context, given, Kind::webhook);
  const json::Value body = with_ids(tree, given, Kind::webhook, tenant, id);
  const auto before = store::find(context.tx, Kind::webhook, tenant, id, store::Lock::update);
  if (!before) return insert(context, body);
  check_conditions(context.call, &*before);
  return store(context, make_draft(context, body), *before, "update");
}

Answer patch_webhook(Context& context) {
  require_setup(context);
  json::Tree tree;
  const json::Value patch = without_secret(tree, read_body(context.call, tree));
  const store::StoredObject before = require(context, Kind::webhook, store::Lock::update);
  check_conditions(context.call, &before);
  const json::Value body = json::merged(tree, tree.parse(before.document).value(), patch);
  const Draft draft = make_draft(context, with_ids(tree, body, Kind::webhook, before.key.tenant_id, before.key.id));
  return store(context, draft, before, "update");
}

Answer delete_webhook(Context& context) { return delete_object(context, Kind::webhook); }

Answer rotate_webhook_secret(Context& context) {
  const webhooks::Setup& setup = require_setup(context);
  refuse_members(context.call);
  const store::StoredObject before = require(context, Kind::webhook, store::Lock::update);
  check_conditions(context.call, &before);
  context.tx.exec(fmt::format("UPDATE webhooks SET old_key = secret_key, old_salt = secret_salt, old_until = now() + "
                              "interval '{} hours' WHERE tenant_id = $1 AND id = $2",
                              kOverlapHours),
                  before.key.tenant_id, before.key.id);
  const webhooks::SecretRef secret = webhooks::new_secret(setup.keys);
  const store::StoredObject after = store::update(context.tx, before, before.document, secret_columns(secret));
  context.log.updated("rotate", before, after);
  Answer answer = show(after);
  answer.secret = shown_secret(context, before.key, secret);
  return answer;
}

Answer test_webhook(Context& context) {
  require_setup(context);
  refuse_members(context.call);
  const store::StoredObject found = require(context, Kind::webhook, store::Lock::share);
  const auto now = std::chrono::floor<std::chrono::seconds>(WallTime(Micros(context.now_us)));
  const webhooks::Event event = webhooks::test_event(found.key.tenant_id, found.key.id, now);
  if (webhooks::add_events(context.tx, {&event, 1}).refused > 0) {
    const std::string text = fmt::format(
        "the tenant has {} deliveries, and may have no more: wait until some have been delivered for {} hours, or "
        "delete "
        "a webhook whose receiver does not answer",
        webhooks::kMaxStored, std::chrono::floor<std::chrono::hours>(webhooks::kMadeAgain).count());
    throw http::Refusal(409, "quota-exceeded", text, {{"", text}});
  }
  context.wrote_rows = true;
  return show_delivery(deliveries_of(found).add(" AND id = $", event.id).run(context.tx)[0]);
}

Answer list_deliveries(Context& context) {
  const store::StoredObject found = require(context, Kind::webhook, store::Lock::none);
  const store::Page page = read_page(context.call);
  store::Statement query = deliveries_of(found);
  if (const std::string status(context.call.parameter("status")); !status.empty()) {
    check_choice("status", status, kStatuses);
    query.add(" AND status = $", status);
  }
  // The newest first. A cursor names the last row by its time and id.
  if (!page.after_id.empty()) {
    if (!parse_timestamp(page.after_tenant_id)) refuse_cursor();
    query.add(" AND (created_at, id) < ($::timestamptz, ", page.after_tenant_id).add("$)", page.after_id);
  }
  query.add(fmt::format(" ORDER BY created_at DESC, id DESC LIMIT {}", page.limit + 1));
  const pqxx::result rows = query.run(context.tx);
  const std::size_t shown = std::min<std::size_t>(rows.size(), page.limit);
  std::string next;
  if (rows.size() > page.limit) {
    const pqxx::row last = rows[static_cast<pqxx::result::size_type>(shown - 1)];
    next = cursor_after(last[8].c_str(), last[0].c_str());
  }
  return list_answer(next, [&](json::Writer& out) {
    for (std::size_t i = 0; i < shown; ++i) {
      out.begin_object();
      write_delivery(out, rows[static_cast<pqxx::result::size_type>(i)]);
      out.end_object();
    }
  });
}

Answer redeliver(Context& context) {
  require_setup(context);
  refuse_members(context.call);
  const store::StoredObject found = require(context, Kind::webhook, store::Lock::share);
  const std::string& id = context.call.path_values.at(1);
  if (!webhooks::redeliver(context.tx, found.key.tenant_id, found.key.id, id)) http::refuse_unknown("delivery", id);
  context.wrote_rows = true;
  return show_delivery(deliveries_of(found).add(" AND id = $", id).run(context.tx)[0]);
}

}  // namespace sluice::server::admin
