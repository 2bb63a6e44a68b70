#include "engine/policies/counters_login.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/json/tree.hpp"
#include "common/redis/credentials.hpp"
#include "common/sync/reconnect.hpp"
#include "common/sync/report.hpp"

namespace sluice::policies {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxAnswer = 16'384;  // bytes
constexpr double kJitter = 0.2;             // random part of the time between two fetches

// A program that reads the file meanwhile gets the whole old text or the whole new one.
Result<> replace_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());  // an agent that was killed may have left it
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  good = good && ::fsync(file) == 0;
  int error = errno;
  if (file >= 0) ::close(file);
  if (good && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  if (good) error = errno;
  ::unlink(fresh.c_str());
  return failure("login_file", fmt::format("{} cannot be written: {}", path, std::strerror(error)));
}

struct GivenLogin {
  std::string file;  // content of the login file
  std::string generation;
};

Result<GivenLogin> login_of(const http_client::Response& answer) {
  json::Tree tree;
  const json::Value document = tree.parse(answer.body).value_or(json::Value());
  const json::Value user = document.get("username");  // "" is Redis' default user
  const json::Value password = document.get("password");
  if (user.type() != json::Type::string || password.type() != json::Type::string) {
    return failure("reply", "the server's answer has no username and password");
  }
  const json::Value given = document.get("generation");
  const std::string generation(given.type() == json::Type::string ? given.text() : "");
  // The agent reports it, and the server would refuse a report with anything else.
  if (generation.size() > sync::kMaxAgentNameBytes ||
      !std::ranges::all_of(generation, [](char c) { return c > ' ' && c <= '~'; })) {
    return failure("reply", "the server's answer has a generation that is no name");
  }
  auto file = redis::write_login_file(user.text(), password.text(), document.is_true("functions"));
  if (!file) return std::unexpected(std::move(file.error()));
  return GivenLogin{*std::move(file), generation};
}

}  // namespace

CountersLogin::CountersLogin(boost::asio::io_context& context, http_client::Options server, std::string agent_id,
                             follow::ServerLink::Token token, std::string file, std::function<void()> changed,
                             telemetry::Log& log)
    : link_(std::move(server), std::move(agent_id), std::move(token), 0),
      client_(context, link_.server()),
      file_(std::move(file)),
      changed_(std::move(changed)),
      log_(log),
      backoff_(sync::Reconnect::kFirst, sync::Reconnect::kCap),
      timer_(context) {}

void CountersLogin::start() { fetch(); }

void CountersLogin::login_rejected() {
  if (client_.busy()) return;
  const Time at = fetched_at_ + kMinInterval;
  if (at >= due_) return;
  due_ = at;
  timer_.set(at, [this] { fetch(); });
}

void CountersLogin::stop() {
  timer_.clear();
  client_.cancel();
}

std::optional<std::string> CountersLogin::problem() const {
  if (!error_) return std::nullopt;
  return "the login to Redis cannot be fetched from the server: " + error_->text;
}

std::string CountersLogin::generation() const {
  if (stored_.empty() && ::access(file_.c_str(), F_OK) == 0) return std::string(kUnknownGeneration);
  return generation_;
}

void CountersLogin::fetch() {
  fetched_at_ = steady_clock::now();
  due_ = Time::max();
  auto request = link_.request("/v1/sync/counters?functions=1");
  if (!request) return fail(std::move(request.error()));
  request->max_body = kMaxAnswer;
  client_.send(*std::move(request), [this](const Result<http_client::Response>& answer) { on_reply(answer); });
}

void CountersLogin::on_reply(const Result<http_client::Response>& answer) {
  if (!answer) return fail(answer.error());
  if (answer->status != 200) return fail(follow::refused_by_server("the login to Redis", *answer));
  if (Result<> stored = store(*answer); !stored) return fail(std::move(stored.error()));
  if (std::exchange(error_, std::nullopt))
    log_.info("redis_login_back", "The server answers requests for the login to Redis again.");
  backoff_.reset();
  const double share = 1 - kJitter / 2 + kJitter * link_.random();
  due_ = steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(share * kEvery);
  timer_.set(due_, [this] { fetch(); });
}

Result<> CountersLogin::store(const http_client::Response& answer) {
  Result<GivenLogin> login = login_of(answer);
  if (!login) return std::unexpected(std::move(login.error()));
  if (login->file != stored_ || ::access(file_.c_str(), F_OK) != 0) {
    if (Result<> written = replace_file(file_, login->file); !written) return written;
    log_.info("redis_login", "The agent has stored a login to Redis from the server.", {{"file", file_}});
    stored_ = std::move(login->file);
  }
  if (generation_ == login->generation) return {};
  generation_ = std::move(login->generation);
  changed_();
  return {};
}

void CountersLogin::fail(Error why) {
  if (!error_) {
    log_.warn("redis_login_failed", "The login to Redis cannot be fetched from the server; the agent tries again.",
              {{"code", why.code}, {"reason", why.text}});
  }
  error_ = std::move(why);
  due_ = steady_clock::now() + backoff_.next(link_.random());
  timer_.set(due_, [this] { fetch(); });
}

}  // namespace sluice::policies
