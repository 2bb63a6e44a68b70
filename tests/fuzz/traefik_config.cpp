// Any bytes as Traefik's dynamic configuration: no crash; each fault has a text, and what is accepted is a valid
// bundle.
#include <cstdint>
#include <string>
#include <vector>

#include "server/imports/imports.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::server::imports;
  const std::vector<Source> sources{{"a.yaml", std::string(reinterpret_cast<const char*>(data), size)}};
  const auto imported = import_sources(*find_importer("traefik"), sources, "shop");
  if (!imported) {
    for (const SourceFault& fault : imported.error()) REQUIRE_THAT(!fault.text.empty());
    return 0;
  }
  for (const Note& note : imported->notes) REQUIRE_THAT(!note.what.empty());
  return 0;
}
