#include "server/webhooks/sender.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>

#include "common/base/version.hpp"
#include "common/http_client/client.hpp"

namespace sluice::server::webhooks {
namespace {

constexpr std::string_view kForbidden = "forbidden_address";

Outcome failed(std::string why) { return {.status = 0, .error = std::move(why)}; }

// One text for names that are unknown and names that lead into the network: customers read it, and must not learn which
// names the network has, or their addresses.
constexpr std::string_view kNoAllowedAddress =
    "host: the name is not known, or it leads to an address that is not allowed: use a name that has only addresses of "
    "the public Internet, over https://, or let the operator allow its addresses with --notify-allow";

// The texts of the secrets that sign: the present one first.
Result<std::vector<std::string>> secrets_of(const Claimed& claimed, const Keys& keys) {
  std::vector<std::string> texts;
  const auto add = [&](const SecretRef& ref) {
    const Key* const key = keys.find(ref.key_name);
    if (key != nullptr) texts.push_back(secret_text(*key, claimed.tenant_id, claimed.webhook_id, ref.salt));
    return key != nullptr;
  };
  if (!add(claimed.secret)) {
    return failure("key_missing",
                   "the key of this webhook's secret is not in --notify-secret-file: add its line again, or rotate the "
                   "secret");
  }
  if (claimed.old_secret) add(*claimed.old_secret);
  return texts;
}

// PostgreSQL's texts hold no NUL, and the answer may hold anything.
std::string shown_answer(std::string_view body) {
  std::string shown;
  for (const char c : body.substr(0, kKeptAnswer)) shown += c >= ' ' && c < '\x7f' ? c : ' ';
  return shown;
}

http_client::Request request_of(const Claimed& claimed, const Target& target, std::string signature) {
  http_client::Request request;
  request.method = "POST";
  request.target = target.path;
  request.fields = {{"webhook-id", claimed.id},
                    {"webhook-timestamp", std::to_string(claimed.now_s)},
                    {"webhook-signature", std::move(signature)}};
  request.body = claimed.body;
  request.max_body = kMaxAnswer;
  return request;
}

Outcome outcome_of(const Result<http_client::Response>& response) {
  if (!response) {
    const auto& [code, text] = response.error();
    const bool refused = code == kForbidden;
    Outcome outcome = failed(refused || code == "resolve" ? std::string(kNoAllowedAddress) : code + ": " + text);
    outcome.refused_address = refused;
    return outcome;
  }
  Outcome outcome{.status = response->status, .error = {}, .answer = shown_answer(response->body)};
  if (response->status >= 200 && response->status <= 299) return outcome;
  const bool redirect = response->status >= 300 && response->status <= 399;
  outcome.error = redirect ? "the answer is a redirect, which is not followed: change the webhook's url"
                           : fmt::format("the answer has the status {}", response->status);
  return outcome;
}

}  // namespace

StuckLookups::~StuckLookups() {
  for (const auto& thread : threads_) thread->join();
}

void StuckLookups::drop_finished() {
  std::erase_if(threads_, [](const auto& thread) {
    const bool finished = thread->finished_within(std::chrono::milliseconds(0));
    if (finished) thread->join();
    return finished;
  });
}

void StuckLookups::add(std::unique_ptr<boost::asio::io_context> loop) {
  const std::lock_guard lock(mutex_);
  drop_finished();
  if (threads_.size() >= kMost) return;
  // The thread is the only owner, so nobody else waits in the destructor.
  threads_.emplace_back(std::make_unique<TimedJoinThread>())
      ->start([kept = std::shared_ptr<boost::asio::io_context>(std::move(loop))]() mutable { kept.reset(); });
}

bool StuckLookups::finished_by(std::chrono::steady_clock::time_point time) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(threads_, [time](const auto& thread) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(time - std::chrono::steady_clock::now());
    return thread->finished_within(rest);
  });
}

Outcome send(const Claimed& claimed, const Setup& setup, StuckLookups& stuck, const SendTimeouts& timeouts) {
  const auto webhook = read_stored_webhook(claimed.document);
  if (!webhook) return failed("the webhook was written by a later release, and this one cannot read it");
  const auto target = parse_target(webhook->url, setup.rules);
  if (!target) {
    Outcome outcome = failed("url " + target.error().text);
    outcome.refused_address = true;
    return outcome;
  }
  const auto secrets = secrets_of(claimed, setup.keys);
  if (!secrets) return failed(secrets.error().text);

  const bool encrypted = target->server.transport == net::Address::Transport::tls;
  auto loop = std::make_unique<boost::asio::io_context>(1);
  http_client::Options options{.server = target->server,
                               .tls = {.ca = setup.tls_ca},
                               .connect_timeout = timeouts.connect,
                               .head_timeout = timeouts.answer,
                               .idle_timeout = timeouts.answer,
                               .user_agent = fmt::format("sluice-webhooks/{}", version())};
  options.check_address = [&setup, encrypted](const boost::asio::ip::address& address) -> Result<> {
    const auto known = parse_ip(address.to_string());  // nullopt: with a zone, so of a link
    if (known && setup.rules.check(*known, encrypted)) return {};
    return failure(std::string(kForbidden), "");
  };
  Outcome outcome = failed(fmt::format("timeout: the delivery took longer than {} ms", timeouts.total.count()));
  bool timed_out = true;
  {
    http_client::Client client(*loop, std::move(options));
    client.send(request_of(claimed, *target, signatures(*secrets, claimed.id, claimed.now_s, claimed.body)),
                [&](const Result<http_client::Response>& response) {
                  outcome = outcome_of(response);
                  timed_out = !response && response.error().code == "timeout";
                  loop->stop();
                });
    // A receiver that answers byte by byte must not hold the thread.
    loop->run_for(timeouts.total);
  }
  if (timed_out) stuck.add(std::move(loop));  // perhaps in the look-up
  return outcome;
}

}  // namespace sluice::server::webhooks
