#include "libsluice/options.hpp"

#include <string_view>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice::lib {
std::unexpected<v1::Status> refuse(std::string_view option, std::string_view rule, v1::Code code) {
  return std::unexpected(v1::Status{code, fmt::format("{}: {}", option, rule)});
}

v1::Status check_options(const v1::Options& options) {
  const auto fault = [](std::string_view option, std::string_view rule) { return refuse(option, rule).error(); };
  const bool bundle = !options.bundle.empty();
  const bool file = !options.bundle_file.empty();
  const bool server = !options.server.url.empty();
  if (bundle && file) return fault("bundle", "bundle_file names other policies: leave one of them empty");
  if (server && (bundle || file)) {
    return fault("server.url",
                 fmt::format("{} names other policies: leave one of them empty", bundle ? "bundle" : "bundle_file"));
  }
  if (options.watch_file && !file) return fault("watch_file", "needs bundle_file, the file that it watches");
  if (!options.tenant.empty() && !is_id(options.tenant)) {
    return fault("tenant", fmt::format("must be the id of a tenant: letters, digits, \".\" and \"-\"; got {}",
                                       quoted(options.tenant)));
  }
  return {};
}

}  // namespace sluice::lib
