// The commands that open a connection (AUTH, SELECT, CLIENT SETNAME, PING, INFO, and a trial script), and what their
// replies mean. No I/O: the caller moves the bytes. One object serves one connection.
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

// Reads a reply to INFO, or one section of it. Fields that the text lacks stay as they are.
void read_info(std::string_view text, ServerInfo& info);

// Accepts Redis, Valkey and KeyDB from 7.0 on: older versions refuse scripts that begin with `#!lua`. Accepts any
// Dragonfly, which has version numbers of its own. Errors: `too_old`, `protocol` (INFO has no version).
Result<> check_version(const ServerInfo& info);

// An error reply's text for a log line: at most 200 bytes, without control characters.
std::string quote(const Reply& reply);

struct Login {
  std::string user;
  std::string password;
  std::uint32_t database = 0;
  std::string client_name;
  bool runs_scripts = false;     // the client will call scripts, so the handshake runs a trial script
  bool calls_functions = false;  // the user may bring no scripts, so it calls functions, and there is no trial
};

class Handshake {
 public:
  explicit Handshake(const Login& login);

  // All commands, to be sent in one write.
  const std::string& request() const { return request_; }

  // Returns nullopt if more bytes are needed. REQUIRES: no earlier call returned an error or a ServerInfo.
  // Errors: authentication, permission, database, loading, busy, masterdown, too_old, no_scripts, denied, refused,
  // protocol.
  Result<std::optional<ServerInfo>> feed(std::string_view bytes);

 private:
  enum class Step : std::uint8_t { auth, select, setname, ping, info, load_trial, run_trial };

  Result<> take(Step step, const Reply& reply);
  void note_trial(Step step, const Reply& reply);
  Error explain(Step step, const Reply& reply) const;

  std::string user_;
  std::uint32_t database_;
  std::string request_;
  std::vector<Step> steps_;
  std::size_t done_ = 0;
  ReplyReader reader_;
  ServerInfo info_;
  // If the version is too old as well, feed() returns `too_old` instead, which explains more.
  std::optional<Error> no_scripts_;
};

}  // namespace sluice::redis
