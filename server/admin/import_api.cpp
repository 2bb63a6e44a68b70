#include "server/admin/import_api.hpp"

#include <span>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "server/admin/bundle_api.hpp"
#include "server/admin/object_parts.hpp"
#include "server/http/refusal.hpp"
#include "server/imports/imports.hpp"

namespace sluice::server::admin {
namespace {

const imports::Importer& read_importer(const Call& call) {
  const std::string_view from = call.parameter("from");
  const imports::Importer* const importer = imports::find_importer(from);
  if (importer != nullptr) return *importer;
  http::refuse_fault(
      400, "?from",
      from.empty() ? fmt::format("from is missing: say which limiter the text is of: {}", imports::importer_names())
                   : fmt::format("from must be one of {}, not {}", imports::importer_names(), quoted(from)));
}

std::string read_tenant(Context& context) {
  std::string tenant = tenant_of(context, Kind::policy);
  if (tenant.empty()) tenant = only_tenant(context.tx);
  if (!tenant.empty()) return tenant;
  http::refuse_fault(422, "?tenant_id", "tenant_id is missing: say which tenant gets the policies");
}

[[noreturn]] void refuse(std::vector<imports::SourceFault> found) {
  Faults faults;
  for (imports::SourceFault& fault : found) {
    faults.push_back({.pointer = "", .text = std::move(fault.text), .line = fault.at.line});
  }
  http::refuse_faults(422, std::move(faults));
}

void write_notes(json::Writer& out, std::span<const imports::Note> notes) {
  out.key("notes");
  out.begin_list();
  for (const imports::Note& note : notes) {
    out.begin_object();
    out.field("line", static_cast<std::int64_t>(note.at.line));
    out.field("what", note.what);
    out.field("why", note.why);
    if (!note.instead.empty()) out.field("instead", note.instead);
    out.end_object();
  }
  out.end_list();
}

// Applies the bundle as if the call had brought it.
Answer apply(Context& context, const std::string& bundle) {
  Call call;
  call.route = context.call.route;
  call.query = {{"dry_run", std::string(context.call.parameter("dry_run"))}};
  call.body = bundle;
  call.memory = context.call.memory;
  Context inner{.call = call,
                .principal = context.principal,
                .tx = context.tx,
                .log = context.log,
                .now_us = context.now_us,
                .snapshots = context.snapshots,
                .fleet_images = context.fleet_images,
                .default_rates = context.default_rates,
                .compiled = std::move(context.compiled),
                .publisher = context.publisher,
                .resets = std::move(context.resets)};
  Answer answer = apply_bundle(inner);
  context.compiled = std::move(inner.compiled);
  context.resets = std::move(inner.resets);
  return answer;
}

}  // namespace

Answer import_text(Context& context) {
  const imports::Importer& importer = read_importer(context.call);
  const std::string tenant = read_tenant(context);
  // Every format may be YAML, whose parts take more memory than the text.
  context.call.memory->raise_to(http::weight_of_yaml(context.call.body));
  const imports::Source source{"body", context.call.body};
  const auto imported =
      context.tx.without_idle_timeout([&] { return imports::import_sources(importer, std::span(&source, 1), tenant); });
  if (!imported) refuse(imported.error());
  context.call.memory->raise_to(http::weight_of_yaml(context.call.body) + http::weight_of_json(imported->bundle));
  Answer answer = apply(context, imported->bundle);
  json::Writer& out = *answer.object;
  out.key("bundle");
  out.raw(imported->bundle);
  write_notes(out, imported->notes);
  out.key("dimensions");
  out.begin_list();
  for (const std::string& name : imported->dimensions) out.text(name);
  out.end_list();
  return answer;
}

}  // namespace sluice::server::admin
