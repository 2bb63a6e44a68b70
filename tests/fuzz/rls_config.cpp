// Any bytes as a file of envoyproxy/ratelimit: no crash; each fault has a line; what is accepted finds rules for any
// descriptor.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/rls_config/config_reader.hpp"
#include "common/rls_config/find_rule.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice::rls_config;

// Asks for each descriptor of the tree by the names in the file itself.
void ask(const Node& root, const Node& node, std::vector<Entry>& entries, std::size_t depth) {
  if (depth == 8) return;
  Match match;
  for (const auto& [name, child] : node.children) {
    const std::size_t at = name.find('_');
    const std::string_view view = name;
    entries.push_back({view.substr(0, at), at == std::string::npos ? std::string_view() : view.substr(at + 1)});
    find_rule(root, entries, match);
    std::string parts;
    if (match.rule != nullptr) append_metric_parts(match, entries, parts);
    REQUIRE_THAT(static_cast<std::size_t>(std::ranges::count(parts, kPartEnd)) <= entries.size());
    ask(root, *child, entries, depth + 1);
    entries.pop_back();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<FileText> files{{"a.yaml", std::string(reinterpret_cast<const char*>(data), size)}};
  const auto read = read_config(files);
  if (!read) {
    for (const FileFaults& file : read.error()) {
      for (const sluice::Fault& fault : file.faults) REQUIRE_THAT(!fault.text.empty() && fault.line > 0);
    }
    return 0;
  }
  for (const auto& [domain, root] : read->config->domains) {
    std::vector<Entry> entries;
    ask(root, root, entries, 0);
  }
  return 0;
}
