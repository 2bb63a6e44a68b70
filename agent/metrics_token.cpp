#include "agent/metrics_token.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "engine/policies/bundle_file.hpp"

namespace sluice::agent {

Result<> MetricsToken::load() {
  constexpr const char* kCode = "metrics_token_file";
  seen_ = current_identity(path_);
  if (seen_.size > static_cast<std::int64_t>(kLongest + 2)) {
    return failure(kCode, fmt::format("{} is larger than a metrics token may be: put at most {} characters on one line",
                                      path_, kLongest));
  }
  auto file = policies::read_whole(path_, true);
  if (!file) return failure(kCode, file.error().text);
  if (!*file) return failure(kCode, fmt::format("{} changes while it is read: replace it by renaming", path_));
  std::string token = std::move((*file)->text);
  while (token.ends_with('\n') || token.ends_with('\r')) token.pop_back();
  const bool visible = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (!visible || token.size() < kShortest || token.size() > kLongest) {
    return failure(kCode, fmt::format("{} holds no metrics token: put {} to {} visible ASCII characters on one line",
                                      path_, kShortest, kLongest));
  }
  token_ = std::move(token);
  seen_ = (*file)->identity;
  return {};
}

bool MetricsToken::matches(std::string_view token) {
  if (current_identity(path_) != seen_) {
    if (const auto loaded = load(); !loaded) {
      log_.warn("metrics_token_refused", "The metrics token cannot be read again; the former one stays in force.",
                {{"code", loaded.error().code}, {"reason", loaded.error().text}});
    } else {
      log_.info("metrics_token_renewed", "The metrics token was replaced.");
    }
  }
  return constant_time_equal(as_bytes(token), as_bytes(token_));
}

}  // namespace sluice::agent
