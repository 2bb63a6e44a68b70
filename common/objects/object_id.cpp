#include "common/objects/object_id.hpp"

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice {
namespace {

IdFault not_an_id(std::string_view member, std::string_view text) {
  return {member, fmt::format("{} must be 1 to {} characters from a-z 0-9 . -, starting with a letter or digit; got {}",
                              member, kMaxIdBytes, quoted(text))};
}

}  // namespace

std::optional<IdFault> check_id(const ObjectIdView& id) {
  const bool in_tenant = info(id.kind).in_tenant();
  if (in_tenant && !is_id(id.tenant_id)) return not_an_id("tenant_id", id.tenant_id);
  if (!in_tenant && !id.tenant_id.empty()) {
    return IdFault{"tenant_id", fmt::format("tenant_id must be \"\" for objects of kind {}; got {}",
                                            info(id.kind).sync_name, quoted(id.tenant_id))};
  }
  if (id.kind != Kind::setting) return is_id(id.id) ? std::nullopt : std::optional(not_an_id("id", id.id));
  if (id.id.empty()) return std::nullopt;
  return IdFault{"id", fmt::format("id must be \"\" for the settings, which are one object; got {}", quoted(id.id))};
}

std::string describe(const ObjectIdView& id) {
  if (id.kind == Kind::setting) return "the settings";
  if (!info(id.kind).in_tenant()) return fmt::format("{} {}", info(id.kind).name, id.id);
  return fmt::format("{} {} of tenant {}", info(id.kind).name, id.id, id.tenant_id);
}

}  // namespace sluice
