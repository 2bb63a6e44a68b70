#include "server/identity/flags.hpp"

#include <algorithm>

namespace sluice::server::identity {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxAudience = 256;  // bytes

}  // namespace

IdentitySettings read_identity(program::ConfigReader& reader) {
  IdentitySettings settings;
  settings.review.audience = reader.value("token-audience").text;
  const bool valid = !settings.review.audience.empty() && settings.review.audience.size() <= kMaxAudience &&
                     std::ranges::all_of(settings.review.audience, [](char c) { return c > ' ' && c < '\x7f'; });
  if (!valid) reader.fault("token-audience", "must be 1 to 256 visible ASCII characters");
  settings.review.accepted_for = reader.duration("token-review-cache", 1s, 60s, "1s to 60s");
  const bool uses_kubernetes = reader.value("kubernetes").given && reader.value("kubernetes").text != "off";
  for (const std::string_view flag : {"token-audience", "token-review-cache"}) {
    reader.require_use(flag, uses_kubernetes, "has no use without --kubernetes; leave it out");
  }
  settings.agents_redis_user = reader.value("agents-redis-user").text;
  settings.agents_redis_password_file = reader.file("agents-redis-password-file");
  reader.require_use("agents-redis-user", reader.value("agents-redis-password-file").given,
                     "needs its password; add --agents-redis-password-file");
  return settings;
}

}  // namespace sluice::server::identity
