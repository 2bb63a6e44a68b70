#include "server/imports/imports.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/policy_json.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/snapshot.hpp"
#include "server/imports/sources.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::array kImporters{
    Importer{"envoy-ratelimit", "configuration files of envoyproxy/ratelimit (YAML)", &read_envoy_ratelimit},
    Importer{"limitador", "limits files of Limitador (YAML)", &read_limitador},
    Importer{"kong", "decK files of Kong with rate-limiting and rate-limiting-advanced (YAML or JSON)", &read_kong},
    Importer{"gubernator", "requests of Gubernator, as for GetRateLimits (YAML or JSON)", &read_gubernator},
    Importer{"nginx", "configuration of nginx with limit_req and limit_conn, best the output of nginx -T", &read_nginx},
    Importer{"traefik", "files of Traefik's file provider, and its Middlewares and IngressRoutes (YAML)",
             &read_traefik},
};

// Which importer made a policy, as metadata.
constexpr std::string_view kImportedFrom = "imported_from";

// The policy that a fault is about; `count` if the fault is about none.
std::size_t policy_of(std::string_view pointer, std::size_t count) {
  constexpr std::string_view kList = "/policies/";
  if (!pointer.starts_with(kList)) return count;
  pointer.remove_prefix(kList.size());
  std::size_t index = count;
  std::from_chars(pointer.data(), pointer.data() + pointer.size(), index);
  return std::min(index, count);
}

std::vector<SourceFault> faults_of(const Faults& faults, const Draft& draft) {
  std::vector<SourceFault> found;
  for (const Fault& fault : faults) {
    const std::size_t index = policy_of(fault.pointer, draft.policies().size());
    const Place at = index < draft.places().size() ? draft.places()[index] : Place{};
    found.push_back({at, fmt::format("the policy made of this would be invalid: {}", fault.text)});
  }
  return found;
}

std::string text_of(const Bundle& bundle) {
  json::Writer out;
  out.begin_object();
  out.field("format", "sluice/v1");
  out.key("policies");
  out.begin_list();
  for (const Policy& policy : bundle.policies) write_policy(out, policy);
  out.end_list();
  out.end_object();
  return out.take();
}

// Writes the bundle and reads it as any other. `bundle` has its tenant, which the text to be applied has not.
Faults faults_of_bundle(const Bundle& bundle) {
  Faults notes;
  auto read = parse_written_bundle(write_bundle(bundle), &policy::check_expression, notes);
  if (!read) return std::move(read.error());
  auto built = policy::build_snapshot(*read, 0, 0);
  return built ? Faults{} : std::move(built.error());
}

std::vector<std::string> dimensions_of(const Bundle& bundle) {
  std::set<std::string> names;
  for (const Policy& policy : bundle.policies) {
    for (const ScopeTerm& term : policy.scope) names.insert(to_string(term.dimension));
    for (const DimensionRef& key : policy.enforcement.key_by) names.insert(to_string(key));
    for (const Limit& limit : policy.limits) {
      for (const DimensionRef& key : limit.key_by) names.insert(to_string(key));
    }
  }
  return {names.begin(), names.end()};
}

std::string place_text(Place at, std::span<const Source> sources) {
  const std::string_view name = at.file < sources.size() ? std::string_view(sources[at.file].name) : "";
  return at.line == 0 ? std::string(name) : fmt::format("{}:{}", name, at.line);
}

}  // namespace

std::span<const Importer> importers() { return kImporters; }

const Importer* find_importer(std::string_view name) {
  const auto* const found = std::ranges::find(kImporters, name, &Importer::name);
  return found == kImporters.end() ? nullptr : found;
}

std::string importer_names() {
  std::string names;
  for (const Importer& importer : kImporters) names.append(names.empty() ? "" : ", ").append(importer.name);
  return names;
}

std::expected<Imported, std::vector<SourceFault>> import_sources(const Importer& importer,
                                                                 std::span<const Source> sources,
                                                                 std::string_view tenant_id) {
  Draft draft;
  importer.read(sources, draft);
  if (!draft.faultless()) return std::unexpected(draft.take_faults());
  Bundle bundle;
  bundle.tenants.push_back({.id = std::string(tenant_id), .name = {}, .organization_id = {}});
  bundle.policies = draft.policies();
  for (Policy& policy : bundle.policies) {
    policy.tenant_id = tenant_id;
    policy.metadata.emplace(kImportedFrom, importer.name);
  }
  if (const Faults faults = faults_of_bundle(bundle); !faults.empty()) {
    return std::unexpected(faults_of(faults, draft));
  }
  return Imported{.bundle = text_of(bundle),
                  .policies = bundle.policies.size(),
                  .notes = draft.take_notes(),
                  .dimensions = dimensions_of(bundle)};
}

std::string describe(const Note& note, std::span<const Source> sources) {
  return fmt::format("{}: {}: {}{}{}", place_text(note.at, sources), note.what, note.why,
                     note.instead.empty() ? "" : "; ", note.instead);
}

std::string describe(const SourceFault& fault, std::span<const Source> sources) {
  return fmt::format("{}: {}", place_text(fault.at, sources), fault.text);
}

}  // namespace sluice::server::imports
