#include "common/policy/shared_names.hpp"

#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/objects/kind.hpp"

namespace sluice::policy {
namespace {

template <class Item>
void find_shared(Kind kind, const std::vector<Item>& items, Faults& found) {
  using Name = std::pair<std::string_view, std::string_view>;  // the tenant and the name
  std::map<Name, std::vector<std::string_view>> ids;
  for (const Item& item : items) {
    if (!item.name.empty()) ids[{item.tenant_id, item.name}].push_back(item.id);
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    if (item.name.empty()) continue;
    const std::vector<std::string_view>& same = ids.at({item.tenant_id, item.name});
    if (same.size() == 1) continue;
    const std::string_view other = same[0] == item.id ? same[1] : same[0];
    found.push_back({fmt::format("/{}/{}/name", info(kind).plural, i),
                     shared_name_text({kind, item.tenant_id, item.id}, item.name, other)});
  }
}

}  // namespace

Faults shared_names(const Bundle& bundle) {
  Faults found;
  find_shared(Kind::plan, bundle.plans, found);
  find_shared(Kind::policy, bundle.policies, found);
  return found;
}

std::string shared_name_text(const ObjectIdView& object, std::string_view name, std::string_view other_id) {
  const std::string_view kind = info(object.kind).name;
  return fmt::format("{} {} of tenant {} has the name {} already: choose another name, or change that {}", kind,
                     quoted(other_id), quoted(object.tenant_id), quoted(name), kind);
}

}  // namespace sluice::policy
