// Writes the canonical form of a bundle, without defaults.
#include "common/json/writer.hpp"
#include "common/objects/bundle_json.hpp"
#include "common/objects/bundle_lists.hpp"

namespace sluice {

std::string write_bundle(const Bundle& bundle) {
  json::Writer out;
  out.begin_object();
  out.field("format", "sluice/v1");
  if (bundle.mode != Mode::enforce) out.field("mode", to_string(bundle.mode));
  for (const Kind kind : kAllKinds) {
    if (!info(kind).in_bundle) continue;
    const BundleListAccess& access = list_access(kind);
    const std::size_t objects = access.size(bundle);
    if (objects == 0) continue;
    out.key(info(kind).plural);
    out.begin_list();
    for (std::size_t i = 0; i < objects; ++i) access.write(out, bundle, i);
    out.end_list();
  }
  out.end_object();
  return out.take() + '\n';
}

}  // namespace sluice
