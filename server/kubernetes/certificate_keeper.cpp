#include "server/kubernetes/certificate_keeper.hpp"

#include <random>
#include <utility>

#include <fmt/core.h>

#include "common/base/percent_encoding.hpp"
#include "common/base/timestamp.hpp"
#include "server/kubernetes/certificate_cache.hpp"

namespace sluice::server::kubernetes {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kDeadline = 5s;
constexpr std::chrono::milliseconds kFirstRetry = 500ms;
constexpr int kMaxAttempts = 6;  // per check(); each step and each conflict needs a new attempt
constexpr unsigned kConflict = 409;
constexpr unsigned kNotFound = 404;

bool succeeded(const ApiResponse& answer) { return answer.status >= 200 && answer.status < 300; }

double random_share() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

}  // namespace

CertificateKeeper::CertificateKeeper(boost::asio::io_context& loop, Api& api, Options options, const Clock& clock,
                                     telemetry::Log& log)
    : api_(api),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      timer_(loop),
      backoff_(kFirstRetry, options_.check_every) {}

void CertificateKeeper::start(std::function<void()> on_first) {
  on_first_ = std::move(on_first);
  if (!options_.cache.empty()) start_from_cache();
  check();
}

// The Secret may hold a newer certificate by now. The first round that reaches the API server puts that one in force.
void CertificateKeeper::start_from_cache() {
  const auto cached = read_certificate_cache(options_.cache);
  if (!cached) return log_.warn("tls_cache_unused", cached.error().text, {{"code", cached.error().code}});
  if (!*cached || (*cached)->not_after <= now()) return;
  const CachedCertificate& found = **cached;
  if (const auto renewed = certificates_->renew({options_.cache, found.chain}, {options_.cache, found.key}); !renewed) {
    return log_.warn("tls_cache_unused", renewed.error().text, {{"code", renewed.error().code}});
  }
  served_ = {found.authority, found.not_after};
  served_chain_ = found.chain;
  trusted_ = found.trusted;
  cache_is_current_ = true;
  log_.info("tls_from_cache", "The certificate of before the start is in force until the Secret is read.",
            {{"file", options_.cache}, {"not_after", format_timestamp(found.not_after)}});
  std::exchange(on_first_, nullptr)();
}

void CertificateKeeper::save_cache() {
  const auto written = write_certificate_cache(options_.cache, {.chain = secret_.chain(),
                                                                .key = secret_.leaf.key,
                                                                .authority = secret_.authority.certificate,
                                                                .trusted = secret_.trusted(),
                                                                .not_after = facts_.leaf.until});
  cache_is_current_ = written.has_value();
  if (!written) log_.warn("tls_cache_failed", written.error().text, {{"code", written.error().code}});
}

void CertificateKeeper::stop() {
  stopped_ = true;
  timer_.cancel();
}

void CertificateKeeper::check() {
  if (checking_ || stopped_) return;
  checking_ = true;
  attempts_ = 0;
  error_.reset();
  begin_attempt();
}

std::chrono::sys_seconds CertificateKeeper::now() const {
  return std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(clock_.now_us())));
}

std::string CertificateKeeper::secret_path() const {
  return fmt::format("/api/v1/namespaces/{}/secrets/{}", percent_encode(options_.namespace_),
                     percent_encode(options_.secret));
}

void CertificateKeeper::send(std::string method, std::string path, std::string body, AnswerHandler handler,
                             std::string content_type) {
  const auto on_answer = [this, alive = std::weak_ptr<int>(alive_), handler](Result<ApiResponse> answer) {
    if (!alive.expired() && !stopped_) (this->*handler)(std::move(answer));
  };
  api_.send(std::move(method), std::move(path), std::move(body), kDeadline, on_answer, std::move(content_type));
}

void CertificateKeeper::begin_attempt() {
  if (++attempts_ > kMaxAttempts) {
    record_error({"conflict", "other servers keep changing the certificate's Secret"});
    return finish();
  }
  webhooks_ = {};
  webhooks_known_ = options_.webhooks.empty();
  if (options_.webhooks.empty()) return read_secret();
  send("GET", webhooks_path(options_.webhooks), "", &CertificateKeeper::on_webhooks);
}

void CertificateKeeper::on_webhooks(Result<ApiResponse> answer) {
  if (!answer) {
    record_error(answer.error());
  } else if (succeeded(*answer)) {
    auto read = read_webhooks(answer->body);
    webhooks_known_ = read.has_value();
    if (read) webhooks_ = *std::move(read);
    if (!read) record_error(read.error());
  } else if (answer->status == kNotFound) {
    webhooks_known_ = true;  // the injector is not installed, so there is no caBundle to update
  } else {
    record_error({"refused", error_text(*answer)});
  }
  read_secret();
}

void CertificateKeeper::read_secret() { send("GET", secret_path(), "", &CertificateKeeper::on_secret); }

void CertificateKeeper::on_secret(Result<ApiResponse> answer) {
  secret_ = {};
  if (answer && succeeded(*answer)) {
    auto read = read_tls_secret(answer->body);
    if (!read) {
      record_error(read.error());
      return finish();
    }
    secret_ = *std::move(read);
  } else if (!answer || answer->status != kNotFound) {
    record_error(answer ? Error{"refused", error_text(*answer)} : answer.error());
    return finish();
  }
  decide();
}

void CertificateKeeper::decide() {
  if (secret_.version.empty() || secret_.version != examined_version_) facts_ = examine(secret_, options_.wanted);
  examined_version_ = secret_.version;
  step_ = next_step(facts_, now(), next_is_trusted());
  if (step_ == Step::refuse) {
    record_error(
        {"foreign_secret",
         fmt::format("the Secret {}/{} holds a certificate that this server did not make (it has no ca.key); mount it "
                     "and name its files (--tls-cert, --tls-key, --tls-ca) instead of --tls-self-managed, or delete it",
                     options_.namespace_, options_.secret)});
    return finish();
  }
  if (step_ != Step::none) return write(step_);
  update_webhooks();
}

// The next authority (the CA that signs later certificates) counts as trusted once all caBundles have contained it for
// check_every. Replicas of the API server read a new caBundle within about a second.
bool CertificateKeeper::next_is_trusted() {
  const bool trusted = webhooks_known_ && !secret_.next.certificate.empty() &&
                       (!webhooks_.exist() || webhooks_.all_trust(secret_.trusted()));
  if (!trusted) {
    announced_.clear();
    return false;
  }
  if (announced_ != secret_.next.certificate) {
    announced_ = secret_.next.certificate;
    announced_at_ = now();
  }
  return now() - announced_at_ >= options_.check_every;
}

void CertificateKeeper::write(Step step) {
  if (facts_.state == SecretState::damaged) {
    log_.warn("tls_secret_damaged",
              "The key of the authority in the Secret cannot be used; the server makes a new authority.",
              {{"secret", options_.secret}});
  }
  const bool exists = !secret_.version.empty();
  auto changed = carry_out(step, secret_, options_.wanted, now(), served_);
  if (!changed) {
    record_error(changed.error());
    return finish();
  }
  secret_ = *std::move(changed);
  if (exists) {
    send("PATCH", secret_path(), patch_tls_secret(secret_), &CertificateKeeper::on_secret_written, kMergePatch);
  } else {
    send("POST", fmt::format("/api/v1/namespaces/{}/secrets", percent_encode(options_.namespace_)),
         create_tls_secret(secret_, options_.secret), &CertificateKeeper::on_secret_written);
  }
}

void CertificateKeeper::on_secret_written(Result<ApiResponse> answer) {
  if (answer && succeeded(*answer)) {
    log_.info("tls_secret_written", "The certificate's Secret was changed.",
              {{"secret", options_.secret}, {"step", to_string(step_)}});
    return begin_attempt();
  }
  // Another server was first, or the Secret was deleted.
  if (answer && (answer->status == kConflict || answer->status == kNotFound)) return begin_attempt();
  record_error(answer ? Error{"refused", error_text(*answer)} : answer.error());
  finish();
}

void CertificateKeeper::update_webhooks() {
  const std::string trusted = secret_.trusted();
  if (!webhooks_.exist() || webhooks_.all_trust(trusted)) return put_in_force();
  send("PATCH", webhooks_path(options_.webhooks), patch_webhooks(webhooks_, trusted),
       &CertificateKeeper::on_webhooks_updated, kStrategicMergePatch);
}

void CertificateKeeper::on_webhooks_updated(Result<ApiResponse> answer) {
  if (answer && succeeded(*answer)) {
    for (Webhooks::Hook& each : webhooks_.hooks) each.bundle = secret_.trusted();
    log_.info("webhooks_updated", "The webhooks' caBundle was updated.", {{"configuration", options_.webhooks}});
    return put_in_force();
  }
  if (answer && (answer->status == kConflict || answer->status == kNotFound)) return begin_attempt();
  record_error(answer ? Error{"refused", error_text(*answer)} : answer.error());
  put_in_force();
}

// A certificate of a new authority waits until the webhooks trust that authority, unless no valid certificate is in
// force.
bool CertificateKeeper::may_serve() const {
  if (served_.authority.empty() || served_.authority == secret_.authority.certificate || served_.until <= now()) {
    return true;
  }
  return webhooks_known_ && webhooks_.all_include(secret_.authority.certificate);
}

void CertificateKeeper::put_in_force() {
  if (secret_.chain() != served_chain_ && may_serve()) {
    const auto renewed =
        certificates_->renew({fmt::format("tls.crt of the Secret {}", options_.secret), secret_.chain()},
                             {fmt::format("tls.key of the Secret {}", options_.secret), secret_.leaf.key});
    if (!renewed) {
      record_error(renewed.error());
      return finish();
    }
    const bool first = served_chain_.empty();
    served_ = {secret_.authority.certificate, facts_.leaf.until};
    served_chain_ = secret_.chain();
    cache_is_current_ = false;
    statistics_.ca_not_after = facts_.authority.until.time_since_epoch().count();
    if (!first) ++statistics_.rotations;
    log_.info("tls_renewed", "New connections get the renewed certificate.",
              {{"secret", options_.secret}, {"not_after", format_timestamp(facts_.leaf.until)}});
  }
  const bool saves = !options_.cache.empty() && served_chain_ == secret_.chain() &&
                     (secret_.trusted() != trusted_ || !cache_is_current_);
  trusted_ = secret_.trusted();
  if (saves) save_cache();
  finish();
}

void CertificateKeeper::record_error(const Error& error) {
  if (!error_) error_ = error;
}

void CertificateKeeper::finish() {
  checking_ = false;
  secret_ = {};  // keeps private keys in memory no longer than needed
  if (error_) {
    ++statistics_.failures;
    if (last_error_.get() != error_->text) log_.warn("tls_check_failed", error_->text, {{"code", error_->code}});
    last_error_ = error_->text;
  } else {
    if (!last_error_.empty()) log_.info("tls_check_back", "The certificate's Secret can be read and renewed again.");
    last_error_.clear();
    backoff_.reset();
  }
  timer_.expires_after(error_ ? kFirstRetry + backoff_.next(random_share()) : Backoff::Duration(options_.check_every));
  timer_.async_wait([this, alive = std::weak_ptr<int>(alive_)](const boost::system::error_code& stopped) {
    if (!stopped && !alive.expired()) check();
  });
  if (certificates_->in_force() && on_first_) std::exchange(on_first_, nullptr)();
}

}  // namespace sluice::server::kubernetes
