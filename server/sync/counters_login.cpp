#include "server/sync/counters_login.hpp"

#include "common/json/writer.hpp"
#include "common/redis/credentials.hpp"

namespace sluice::server::sync {

Result<std::string> FixedLogin::document(const AgentCaller& /*caller*/) const {
  auto password = redis::read_password_file(password_file_);
  if (!password) return std::unexpected(std::move(password.error()));
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("username", user_);
  out.field("password", *password);
  out.end_object();
  return out.take();
}

}  // namespace sluice::server::sync
