// What is said on a new connection before the first command: AUTH, SELECT, CLIENT SETNAME, PING, INFO; and what its
// answers mean.
//
// No I/O. Not thread-safe. One object for one connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/redis/client.hpp"
#include "common/redis/reply_reader.hpp"

namespace sluice::redis {

// Fills what the text of INFO (several sections, one after another) has. Absent fields stay "".
void read_info(std::string_view text, ServerInfo& info);

// Redis ≥ 7.0 (scripts with `#!lua`), or Valkey. Errors: `too_old`, `protocol` (no version at all).
Result<> check_version(const ServerInfo& info);

struct Login {
  std::string user;
  std::string password;
  std::uint32_t database = 0;
  std::string client_name;
};

class Handshake {
 public:
  explicit Handshake(const Login& login);

  // All of it in one write: the server's answers do not depend on our seeing the ones before.
  const std::string& request() const { return request_; }

  // nullopt: more bytes are needed. After an error or a ServerInfo it is over.
  // Errors: authentication, permission, database, loading, busy, masterdown, too_old, denied, refused, protocol.
  Result<std::optional<ServerInfo>> feed(std::string_view bytes);

 private:
  enum class Step : std::uint8_t { auth, select, setname, ping, info };

  Result<> take(Step step, const Reply& reply);
  Error explain(Step step, const Reply& reply) const;

  std::string user_;
  std::uint32_t database_;
  std::string request_;
  std::vector<Step> steps_;
  std::size_t done_ = 0;
  ReplyReader reader_;
  ServerInfo info_;
};

}  // namespace sluice::redis
