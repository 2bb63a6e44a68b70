#include "agent/authz_key.hpp"

#include <cctype>
#include <utility>

#include <fmt/core.h>

#include "common/domain/credential.hpp"
#include "engine/policies/bundle_file.hpp"

namespace sluice::agent {
AuthzKey::AuthzKey(boost::asio::io_context& loop, telemetry::Log& log, std::chrono::milliseconds check_every)
    : log_(log),
      reloads_(loop, log,
               {.refused = "authz_key_refused",
                .renewed = "authz_key_renewed",
                .renewed_text = "Sub-requests of trusted proxies use the renewed API key."},
               check_every) {}

bool AuthzKey::load(const std::string& file, std::function<void(const std::string& key)> publish) {
  if (file.empty()) return true;
  path_ = file;
  publish_ = std::move(publish);
  if (const auto loaded = reload(); !loaded) {
    log_.error("authz_key_faulty", loaded.error().text, {{"code", loaded.error().code}});
    return false;
  }
  reloads_.start([this] { return reload_if_changed(); });
  return true;
}

Result<bool> AuthzKey::reload_if_changed() {
  if (current_identity(path_) == seen_) return false;
  const auto loaded = reload();
  if (!loaded) return std::unexpected(loaded.error());
  return true;
}

Result<> AuthzKey::reload() {
  constexpr const char* kCode = "authz_key_file";
  seen_ = current_identity(path_);
  const auto no_key = [&] {
    return failure(kCode,
                   fmt::format("{} holds no API key: put slk_<id>_<secret> on one line, as it was shown when the "
                               "key was made",
                               path_));
  };
  if (seen_.size > static_cast<std::int64_t>(kMaxKey + 2)) return no_key();  // with the end of the line
  auto file = policies::read_whole(path_, true);
  if (!file) return failure(kCode, file.error().text);
  if (!*file) return failure(kCode, fmt::format("{} changes while it is read: replace it by renaming", path_));
  std::string key = std::move((*file)->text);
  while (!key.empty() && std::isspace(static_cast<unsigned char>(key.back())) != 0) key.pop_back();
  if (!parse_key(key)) return no_key();
  seen_ = (*file)->identity;
  publish_(key);
  return {};
}

}  // namespace sluice::agent
