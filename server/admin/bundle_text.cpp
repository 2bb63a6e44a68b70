#include "server/admin/bundle_text.hpp"

#include <vector>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/tree.hpp"
#include "server/http/refusal.hpp"
#include "server/store/objects.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::size_t kWeight = 3;   // the text grows into larger memory, and the answer is a copy
constexpr std::size_t kRows = 1000;  // per page of store::list()

std::vector<store::Filter> filters_of(const BundleSelection& part, Kind kind) {
  std::vector<store::Filter> filters;
  if (!part.organization_id.empty()) filters.push_back({"organization_id = $", part.organization_id});
  if (!part.tenant_id.empty() && kind != Kind::organization) filters.push_back({"tenant_id = $", part.tenant_id});
  if (kind == Kind::override_) filters.push_back({"coalesce(expires_at, 'infinity') > $::timestamptz", "now"});
  return filters;
}

void append_list(postgres::Transaction& tx, const BundleSelection& part, Kind kind, http::RequestMemory::Share& memory,
                 std::string& out) {
  const std::vector<store::Filter> filters = filters_of(part, kind);
  out += fmt::format(",\n\"{}\":[", info(kind).table());
  store::Page page{.limit = kRows, .after_tenant_id = {}, .after_id = {}};
  for (bool first = true;;) {
    const std::vector<store::StoredObject> found = store::list(tx, kind, filters, page);
    const std::size_t rows = std::min(found.size(), kRows);
    for (std::size_t i = 0; i < rows; ++i) {
      out += first ? "\n" : ",\n";
      first = false;
      out += store::bundle_document(kind, found[i].version, store::shown_document(kind, found[i].document));
    }
    memory.raise_to(kWeight * out.capacity());
    if (out.size() > json::kMaxBytes) {
      throw http::Refusal(
          422, "too-large",
          fmt::format("The bundle would be larger than the {} MiB that a bundle may have: export one organization or "
                      "one tenant at a time.",
                      json::kMaxBytes >> 20));
    }
    if (found.size() <= kRows) break;
    page.after_tenant_id = found[kRows - 1].key.tenant_id;
    page.after_id = found[kRows - 1].key.id;
  }
  out += ']';
}

}  // namespace

std::string bundle_text(postgres::Transaction& tx, const BundleSelection& part, http::RequestMemory::Share& memory) {
  std::string out = R"({"format":"sluice/v1")";
  json::Tree tree;
  const auto settings = store::find(tx, Kind::setting, "", "global");
  const json::Value global = tree.parse(settings ? settings->document : "{}").value_or(json::Value());
  const std::string_view mode = global.text_of("mode");
  if (!mode.empty() && mode != "enforce") out += fmt::format(R"(,"mode":"{}")", mode);
  for (const Kind kind : kAllKinds) {
    const bool wanted = kind == Kind::key ? part.keys : kind == Kind::override_ ? part.overrides : true;
    if (info(kind).in_bundle && wanted) append_list(tx, part, kind, memory, out);
  }
  return out += "}\n";
}

}  // namespace sluice::server::admin
