#include "server/redis_users/keeper.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "common/json/writer.hpp"
#include "common/limiter/function_library.hpp"
#include "common/redis/handshake.hpp"
#include "server/counters/marker.hpp"

namespace sluice::server::redis_users {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t kBatchSize = 500;            // commands between two looks whether the server stops
constexpr std::chrono::milliseconds kRetry{200};   // after a round that failed
constexpr std::chrono::seconds kAfterRefusal{10};  // after NOPERM, which somebody must put right
constexpr std::chrono::seconds kShareAgain{30};    // see NodeUsers::forget_shared()

constexpr std::string_view kRights = "+acl|setuser +acl|deluser +acl|users +function|load +function|list";

bool is_refusal(const Error& error) { return error.text.starts_with("NOPERM"); }

}  // namespace

Keeper::Keeper(Options options, counters::RedisLink& link, Questions questions, const Clock& clock, telemetry::Log& log)
    : options_(std::move(options)), link_(link), questions_(std::move(questions)), clock_(clock), log_(log) {}

Keeper::~Keeper() { stop(); }

void Keeper::start() {
  read_secret_file();
  given_ = secret_;
  thread_.start([this] { run(); });
}

void Keeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Keeper::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Keeper::set_state(sync::SyncStatePtr state) {
  {
    const std::lock_guard lock(mutex_);
    woken_ = woken_ || !state_ || !same_users(*state_, *state);
    state_ = std::move(state);
  }
  changed_.notify_all();
}

Result<std::string> Keeper::document(const sync::AgentCaller& caller) const {
  std::optional<Secret> secret;
  {
    const std::lock_guard lock(mutex_);
    secret = given_;
  }
  if (!secret) return failure("credentials", "the file of --redis-users-secret-file has never been readable");
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("username", user_name(caller.token_id));
  out.field("password", password_of(*secret, caller));
  out.field("functions", true);
  out.field("generation", secret->generation);
  out.end_object();
  return out.take();
}

std::vector<std::string> Keeper::degraded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> found;
  if (!secret_problem_.empty()) found.push_back(secret_problem_);
  if (!problem_.empty()) found.push_back(problem_);
  return found;
}

bool Keeper::wait(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_ || woken_; });
  woken_ = false;
  return !stopping_;
}

bool Keeper::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Keeper::run() {
  std::chrono::nanoseconds delay{0};
  while (wait(delay)) delay = run_once() ? options_.check_every : kRetry;
}

// Returns false if another round should follow soon.
bool Keeper::run_once() {
  read_secret_file();
  update_settled();
  update_lines();
  if (!secret_ || !used_ || !link_.ready()) return true;  // when the link connects, it wakes this thread
  link_.look_for_nodes();  // a primary that joins the Cluster needs users before agents use it
  for (auto& [run_id, node] : nodes_) node.seen = false;
  bool good = true, all_seen = true;
  std::int64_t behind = 0;
  for (const counters::RedisLink::NodeKey& each : link_.key_of_each_node(counters::marker_key)) {
    const bool served = serve(each.key);
    behind += served ? 0 : 1;
    good = good && served;
  }
  for (const auto& [run_id, node] : nodes_) all_seen = all_seen && node.seen;
  // A primary that did not answer may come back as it was.
  if (good && !all_seen) std::erase_if(nodes_, [](const auto& each) { return !each.second.seen; });
  statistics_.behind = behind;
  if (good) note_good();
  const std::lock_guard lock(mutex_);
  given_ = secret_;
  return good;
}

// A file that cannot be used changes nothing: the secret that was read last stays.
void Keeper::read_secret_file() {
  const FileIdentity found = current_identity(options_.secret_file);
  if (secret_seen_ == found) return;
  Result<Secret> read = read_secret(options_.secret_file);
  std::string fault;
  if (read) {
    secret_seen_ = found;
    if (secret_ != *read) {
      if (secret_) {
        log_.info("redis_users_secret",
                  "Agents get new passwords for Redis; the old ones stay good until all agents "
                  "use the new ones.",
                  {{"generation", read->generation}});
      }
      former_ = std::exchange(secret_, *std::move(read));
      secret_since_ = steady_clock::now();
      settled_ = false;
      other_logins_.reset();
      lines_outdated_ = true;
    }
  } else {
    fault = fmt::format("the secret for agents' Redis users cannot be used ({}): {}", options_.secret_file,
                        read.error().text);
  }
  if (fault != secret_fault_ && !fault.empty()) {
    log_.error("redis_users_secret_unusable", "The secret for agents' Redis users cannot be used; the last one stays.",
               {{"file", options_.secret_file}, {"reason", read.error().text}});
  }
  secret_fault_ = fault;
  const std::lock_guard lock(mutex_);
  secret_problem_ = std::move(fault);
}

// Finds out whose agents still use a password of another secret. When nobody does, such passwords end.
void Keeper::update_settled() {
  if (settled_ || !secret_ || steady_clock::now() - secret_since_ < options_.settle_after) return;
  Tokens others = questions_.tokens_with_other_logins(secret_->generation);
  if (other_logins_ == others) return;
  settled_ = others.empty();
  if (settled_ && former_) {
    log_.info("redis_users_settled", "All agents use their new passwords for Redis; the old ones have ended.",
              {{"generation", secret_->generation}});
  }
  if (settled_) former_.reset();
  other_logins_ = std::move(others);
  lines_outdated_ = true;
}

void Keeper::update_lines() {
  const sync::SyncStatePtr state = [this] {
    const std::lock_guard lock(mutex_);
    return state_;
  }();
  if (!state || !secret_) return;
  const std::int64_t now_us = clock_.now_us();
  const bool expired = wanted_.expires_us && *wanted_.expires_us <= now_us;
  if (!used_ || expired || !same_users(*used_, *state)) {
    wanted_ = wanted_users(*state, now_us);
    statistics_.users = static_cast<std::int64_t>(wanted_.by_name.size());
    lines_outdated_ = true;
  }
  used_ = state;
  if (!std::exchange(lines_outdated_, false)) return;
  lines_.clear();
  for (const auto& [name, user] : wanted_.by_name) {
    UserLine line{.keys = user.keys,
                  .generation = secret_->generation,
                  .hash = password_hash(password_of(*secret_, user.caller)),
                  .former_hash = {},
                  .alone = other_logins_ && !other_logins_->contains(user.caller.token_id)};
    if (!line.alone && former_) line.former_hash = password_hash(password_of(*former_, user.caller));
    lines_.emplace_hint(lines_.end(), name, std::move(line));
  }
}

// Makes one primary right. Returns false if it lacks something afterwards.
bool Keeper::serve(const std::string& key) {
  const auto run_id = run_id_of(key);
  if (!run_id) return false;
  const auto [found, added] = nodes_.try_emplace(*run_id);
  if (added) ++statistics_.new_primaries;
  Node& node = found->second;
  node.seen = true;
  if (steady_clock::now() < node.retry_at) return false;
  return list(key, node) && write_library(key, node) && write_changes(key, *run_id, node);
}

std::optional<std::string> Keeper::run_id_of(const std::string& key) {
  const auto text = link_.command(key, {"INFO", "server"});
  redis::ServerInfo info;
  if (text) redis::read_info(text->value_or(""), info);
  if (!info.run_id.empty()) return info.run_id;
  note(text ? Error{"redis", "INFO names no run id"} : text.error());
  return std::nullopt;
}

bool Keeper::list(const std::string& key, Node& node) {
  const Time now = steady_clock::now();
  if (!node.shared_at || now - *node.shared_at >= kShareAgain) {
    if (node.shared_at) node.users.forget_shared();
    node.shared_at = now;
  }
  if (node.listed_at && now - *node.listed_at < options_.list_every) return true;
  const std::array requests{
      Request{.key = key, .words = {"ACL", "USERS"}},
      Request{.key = key, .words = {"FUNCTION", "LIST", "LIBRARYNAME", limiter::function_library().name}}};
  auto answers = link_.commands(requests);
  for (const Result<Answer>& answer : answers) {
    if (answer) continue;
    refused(node, answer.error());
    return false;
  }
  // A server with an old state would delete the users that another server has just made.
  if (questions_.follows_postgres()) node.users.listed(answers[0]->list);
  node.has_library = !answers[1]->list.empty();
  node.listed_at = now;
  return true;
}

bool Keeper::write_library(const std::string& key, Node& node) {
  if (node.has_library) return true;
  const auto answer = link_.command(key, {"FUNCTION", "LOAD", limiter::function_library().text});
  // Another server may have loaded it meanwhile.
  node.has_library = answer || answer.error().text.find("already exists") != std::string::npos;
  if (!node.has_library) refused(node, answer.error());
  return node.has_library;
}

// The connection may have changed to another Redis between two commands. So the run id is asked for again after each
// batch: it tells that all commands went to this Redis.
bool Keeper::write_changes(const std::string& key, const std::string& run_id, Node& node) {
  std::vector<NodeUsers::Change> due = node.users.changes(lines_);
  for (std::size_t from = 0; from < due.size() && !stopping(); from += kBatchSize) {
    const std::span batch(due.data() + from, std::min(kBatchSize, due.size() - from));
    std::vector<Request> requests;
    for (NodeUsers::Change& change : batch) requests.push_back({.key = key, .words = std::move(change.words)});
    const auto answers = link_.commands(requests);
    if (run_id_of(key) != run_id) return false;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!answers[i]) {
        refused(node, answers[i].error());
        return false;
      }
      ++(batch[i].line ? statistics_.written : statistics_.removed);
      node.users.done(std::move(batch[i]));
    }
  }
  return true;
}

// Redis refused a command for good, or did not answer.
void Keeper::refused(Node& node, const Error& why) {
  if (is_refusal(why)) node.retry_at = steady_clock::now() + kAfterRefusal;
  note(why);
}

void Keeper::note(const Error& why) {
  ++statistics_.failed;
  std::string reason = why.text;
  if (is_refusal(why)) reason += fmt::format("; the server's own user needs {}", kRights);
  std::string problem = "agents' Redis users cannot be written: " + reason;
  const std::lock_guard lock(mutex_);
  if (problem_ == problem) return;
  log_.warn("redis_users_failed", "Agents' Redis users or functions cannot be written; the server tries again.",
            {{"code", why.code}, {"reason", reason}});
  problem_ = std::move(problem);
}

void Keeper::note_good() {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) return;
  problem_.clear();
  log_.info("redis_users_back", "Agents' Redis users are right on every primary again.");
}

}  // namespace sluice::server::redis_users
