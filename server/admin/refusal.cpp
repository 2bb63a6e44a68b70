#include "server/admin/refusal.hpp"

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"

namespace sluice::server {

void refuse_faults(unsigned status, Faults faults) {
  const std::string detail = faults.size() == 1 ? "One field breaks a rule; see errors."
                                                : fmt::format("{} fields break a rule; see errors.", faults.size());
  throw Refusal(status, "invalid", detail, std::move(faults));
}

void refuse_fault(unsigned status, std::string pointer, std::string text) {
  refuse_faults(status, {{std::move(pointer), std::move(text)}});
}

void refuse_unknown(std::string_view kind, std::string_view id) {
  throw Refusal(404, "not-found", fmt::format("There is no {} {}.", kind, quoted(id)));
}

}  // namespace sluice::server
