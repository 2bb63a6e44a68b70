#include "common/redis/handshake.hpp"

#include <charconv>
#include <utility>

#include <fmt/core.h>

namespace sluice::redis {
namespace {

constexpr int kOldestMajor = 7;

// A script that needs what Sluice's scripts need: the first line `#!lua`, and the Lua library struct.
constexpr std::string_view kTrial =
    "#!lua flags=no-writes\nreturn (struct and struct.unpack(\"<I4\", struct.pack(\"<I4\", 7)) == 7) and 1 or 0";
constexpr std::string_view kTrialHash = "1edb42fe65835dfd2dbadc22e37f12599bdc0089";  // SHA-1 of kTrial

}  // namespace

std::string quote(const Reply& reply) {
  std::string text(reply.text.substr(0, 200));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

namespace {

void read_number(std::string_view text, std::int64_t& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}

}  // namespace

void read_info(std::string_view text, ServerInfo& info) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);

    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = line.substr(colon + 1);
    if (name == "redis_version" && info.product.empty()) {
      info.product = "redis";
      info.version = value;
    } else if (name == "valkey_version" || name == "dragonfly_version") {
      // Valkey and Dragonfly also send redis_version, for clients that expect Redis.
      info.product = name.substr(0, name.find('_'));
      info.version = value;
    } else if (name == "executable" && value.ends_with("keydb-server")) {
      info.product = "keydb";  // it sends the version of the Redis that it is made from
    } else if (name == "redis_mode" || name == "server_mode") {
      info.in_cluster = value == "cluster";
    } else if (name == "role") {
      info.role = value;
    } else if (name == "maxmemory_policy") {
      info.maxmemory_policy = value;
    } else if (name == "used_memory") {
      read_number(value, info.used_memory);
    } else if (name == "maxmemory") {
      read_number(value, info.maxmemory);
    } else if (name == "run_id") {
      info.run_id = value;
    }
  }
}

Result<> check_version(const ServerInfo& info) {
  if (info.product == "dragonfly") return {};
  int major = 0;
  const auto [end, error] = std::from_chars(info.version.data(), info.version.data() + info.version.size(), major);
  if (error != std::errc{}) return failure("protocol", "INFO does not name the server's version: is this Redis?");
  if (major < kOldestMajor) {
    return failure("too_old",
                   fmt::format("the server is {} {}, and Redis 7.0 or later (or Valkey) is needed: upgrade the server",
                               info.product, info.version));
  }
  return {};
}

Handshake::Handshake(const Login& login) : user_(login.user), database_(login.database) {
  CommandWriter out(request_);
  if (!login.user.empty()) {
    out.array(3).bulk("AUTH").bulk(login.user).bulk(login.password);
    steps_.push_back(Step::auth);
  } else if (!login.password.empty()) {
    out.array(2).bulk("AUTH").bulk(login.password);
    steps_.push_back(Step::auth);
  }
  if (login.database != 0) {
    out.array(2).bulk("SELECT").bulk(std::int64_t{login.database});
    steps_.push_back(Step::select);
  }
  if (!login.client_name.empty()) {
    out.array(3).bulk("CLIENT").bulk("SETNAME").bulk(login.client_name);
    steps_.push_back(Step::setname);
  }
  // PING is refused while the server cannot serve (LOADING, MASTERDOWN, BUSY); INFO is not.
  out.array(1).bulk("PING");
  steps_.push_back(Step::ping);
  // Servers before 7.0 refuse an INFO for several sections, and the error `too_old` must name their version.
  for (const std::string_view section : {"server", "replication", "memory"}) {
    out.array(2).bulk("INFO").bulk(section);
    steps_.push_back(Step::info);
  }
  if (login.runs_scripts && !login.calls_functions) {
    out.array(3).bulk("SCRIPT").bulk("LOAD").bulk(kTrial);
    out.array(3).bulk("EVALSHA").bulk(kTrialHash).bulk("0");
    steps_.insert(steps_.end(), {Step::load_trial, Step::run_trial});
  }
}

Result<std::optional<ServerInfo>> Handshake::feed(std::string_view bytes) {
  reader_.feed(bytes);
  for (;;) {
    const Result<const Reply*> reply = reader_.next();
    if (!reply) return std::unexpected(reply.error());
    if (*reply == nullptr) break;
    if (done_ == steps_.size()) return failure("protocol", "the server sent more replies than there were commands");
    if (Result<> taken = take(steps_[done_++], **reply); !taken) return std::unexpected(taken.error());
  }
  if (done_ < steps_.size()) return std::nullopt;
  if (Result<> checked = check_version(info_); !checked) return std::unexpected(checked.error());
  if (no_scripts_) return std::unexpected(*std::exchange(no_scripts_, std::nullopt));
  return std::optional(std::move(info_));
}

Result<> Handshake::take(Step step, const Reply& reply) {
  if (step == Step::load_trial || step == Step::run_trial) {
    note_trial(step, reply);
    return {};
  }
  if (reply.is_error()) {
    // An ACL user can lack the permission for CLIENT SETNAME or PING.
    const bool optional = step == Step::setname || (step == Step::ping && reply.error_code() == "NOPERM");
    const bool broken = reply.error_code() == "NOAUTH" || reply.error_code() == "DENIED";
    if (optional && !broken) return {};
    return std::unexpected(explain(step, reply));
  }
  if (step == Step::info) {
    if (reply.type != Reply::Type::string)
      return failure("protocol", "INFO was not answered by a text: is this Redis?");
    read_info(reply.text, info_);
  }
  return {};
}

// Errors other than ERR are about the server's state or the user's rights, not about scripts.
void Handshake::note_trial(Step step, const Reply& reply) {
  const bool lacks_struct = step == Step::run_trial && reply.type == Reply::Type::integer && reply.integer != 1;
  const bool refused = reply.is_error() && reply.error_code() == "ERR";
  if (no_scripts_ || (!lacks_struct && !refused)) return;
  const std::string why =
      lacks_struct
          ? std::string("its Lua has no library struct")
          : fmt::format("it answers {} with: {}", step == Step::load_trial ? "SCRIPT LOAD" : "EVALSHA", quote(reply));
  no_scripts_ = {"no_scripts",
                 fmt::format("the server ({} {}) cannot run Sluice's scripts: {}. Use Redis 7.0 or later, or Valkey",
                             info_.product, info_.version, why)};
}

Error Handshake::explain(Step step, const Reply& reply) const {
  const std::string_view code = reply.error_code();
  const std::string quoted = quote(reply);
  if (reply.text.find("max number of clients") != std::string_view::npos) {
    return {"refused", fmt::format("the server has no connection left: {} (see its maxclients)", quoted)};
  }
  if (code == "LOADING") return {"loading", fmt::format("the server is loading its data: {}", quoted)};
  if (code == "BUSY") return {"busy", fmt::format("the server is busy with a script: {}", quoted)};
  if (code == "MASTERDOWN") return {"masterdown", fmt::format("the replica has lost its primary: {}", quoted)};
  if (code == "DENIED") return {"denied", fmt::format("the server is in protected mode: {}", quoted)};
  if (code == "NOAUTH") return {"authentication", "the server demands a password, and none was given"};
  if (code == "NOPERM") {
    return {"permission",
            fmt::format("the user '{}' may not run the commands that open a connection ({}): grant it +info",
                        user_.empty() ? "default" : user_, quoted)};
  }
  switch (step) {
    case Step::auth:
      return {"authentication",
              fmt::format("the server refuses the {} ({})",
                          user_.empty() ? std::string("password") : fmt::format("user '{}' or its password", user_),
                          quoted)};
    case Step::select:
      return {"database",
              fmt::format("the server has no database {}, or the user may not select it ({})", database_, quoted)};
    default:
      return {"protocol", fmt::format("the server answers the greeting with an error: {}", quoted)};
  }
}

}  // namespace sluice::redis
