// The store as a bundle: documents are stored in canonical form, and so they are put together as they are.
#include <fmt/format.h>
#include <pqxx/pqxx>

#include "common/domain/json_fields.hpp"
#include "common/domain/json_tree.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/json_edit.hpp"
#include "server/admin/refusal.hpp"
#include "server/store/change_log.hpp"
#include "server/store/objects.hpp"

namespace sluice::server {
namespace {

constexpr std::size_t kRows = 1000;  // read at once

// What is to be exported.
struct Selection {
  std::string organization_id;  // "": all there is in scope
  std::string tenant_id;
  bool overrides = false;
};

Selection read_selection(Context& context) {
  Selection chosen{.organization_id = std::string(context.call.parameter("organization_id")),
                   .tenant_id = std::string(context.call.parameter("tenant_id")),
                   .overrides = false};
  const std::string_view include = context.call.parameter("include");
  if (!include.empty() && include != "overrides") {
    refuse_fault(400, "?include", fmt::format("include is overrides, or left out, not {}", quoted(include)));
  }
  chosen.overrides = !include.empty();
  if (!chosen.organization_id.empty() && !find(context.tx, Kind::organization, "", chosen.organization_id)) {
    refuse_unknown("organization", chosen.organization_id);
  }
  if (chosen.tenant_id.empty()) return chosen;
  const auto tenant = find(context.tx, Kind::tenant, "", chosen.tenant_id);
  if (!tenant || (!chosen.organization_id.empty() && tenant->key.organization_id != chosen.organization_id)) {
    refuse_unknown("tenant", chosen.tenant_id);
  }
  chosen.organization_id = tenant->key.organization_id;
  return chosen;
}

std::vector<Filter> filters_of(const Selection& chosen, Kind kind) {
  std::vector<Filter> filters;
  if (!chosen.organization_id.empty()) filters.push_back({"organization_id = $", chosen.organization_id});
  if (!chosen.tenant_id.empty() && kind != Kind::organization) filters.push_back({"tenant_id = $", chosen.tenant_id});
  // Whoever reads the export would drop what is over by now.
  if (kind == Kind::override_) filters.push_back({"coalesce(expires_at, 'infinity') > $::timestamptz", "now"});
  return filters;
}

// The version is the store's, not the document's: agents tell by it which of two equal policies wins.
void append(std::string& out, const StoredObject& object) {
  out += object.document;
  if (object.key.kind != Kind::policy || object.version == 1) return;
  out.pop_back();
  out += fmt::format(R"(,"version":{}}})", object.version);
}

void append_list(Transaction& tx, const Selection& chosen, Kind kind, std::string& out) {
  const std::vector<Filter> filters = filters_of(chosen, kind);
  out += fmt::format(",\n\"{}\":[", info(kind).table);
  Page page{.limit = kRows, .after_tenant_id = {}, .after_id = {}};
  for (bool first = true;;) {
    const std::vector<StoredObject> found = list(tx, kind, filters, page);
    const std::size_t rows = std::min(found.size(), kRows);
    for (std::size_t i = 0; i < rows; ++i) {
      out += first ? "\n" : ",\n";
      first = false;
      append(out, found[i]);
    }
    if (out.size() > kMaxJsonBytes) {
      throw Refusal(422, "too-large",
                    fmt::format("The bundle would be larger than the {} MiB that a bundle may have: export one organization or "
                                "one tenant at a time.",
                                kMaxJsonBytes >> 20));
    }
    if (found.size() <= kRows) break;
    page.after_tenant_id = found[kRows - 1].key.tenant_id;
    page.after_id = found[kRows - 1].key.id;
  }
  out += ']';
}

std::string document_of(Transaction& tx, const Selection& chosen) {
  std::string out = R"({"format":"sluice/v1")";
  JsonTree tree;
  const auto settings = find(tx, Kind::setting, "", "global");
  const auto global = tree.parse(settings ? std::string_view(settings->document) : std::string_view("{}"));
  const std::string_view mode = global ? text_member(*global, "mode") : std::string_view();
  if (!mode.empty() && mode != "enforce") out += fmt::format(R"(,"mode":"{}")", mode);
  for (const Kind kind : {Kind::organization, Kind::tenant, Kind::plan, Kind::policy, Kind::key}) {
    append_list(tx, chosen, kind, out);
  }
  if (chosen.overrides) append_list(tx, chosen, Kind::override_, out);
  return out += "}\n";
}

}  // namespace

Answer export_bundle(Context& context) {
  const Selection chosen = read_selection(context);
  const Revision revision = head(context.tx);
  const std::string tag = fmt::format("\"{}\"", revision.number);
  Answer answer;
  answer.headers = fmt::format("ETag: {}\r\nSluice-Revision: {}\r\n", tag, revision.number);
  if (context.call.if_none_match == tag) {
    answer.status = 304;
    return answer;
  }
  answer.body = document_of(context.tx, chosen);
  return answer;
}

}  // namespace sluice::server
