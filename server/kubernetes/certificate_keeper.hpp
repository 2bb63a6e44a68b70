// Creates and renews the server's certificate in a Secret, and puts the Secret's certificate in force.
//
// Every server of a cluster has a keeper for the same Secret. certificate_plan decides the next step, and the first
// server that writes this step wins. The writes of the other servers name an old resourceVersion, so the API server
// refuses them, and these servers start again.
// A round, which is repeated periodically:
//   1. read the webhook configuration, then the Secret; because of this order, the API server refuses to replace a
//      newer caBundle (the authorities that it trusts when it calls a webhook) by an older one
//   2. if there is a next step, carry it out and start again
//   3. write the authorities (CA certificates) to the caBundle of the webhooks
//   4. put the certificate in force; if its authority is new, wait until the webhooks trust it (see may_serve())
// If anything fails, the certificate in force stays, and the next round tries again.
//
// Thread: the loop's; statistics and certificates() may be used from any thread. Requests and answers may be lost or
// late: the next round reads the state again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/backoff.hpp"
#include "common/base/clock.hpp"
#include "common/http/tls.hpp"
#include "common/telemetry/log.hpp"
#include "server/kubernetes/api_client.hpp"
#include "server/kubernetes/certificate_plan.hpp"
#include "server/kubernetes/webhooks.hpp"

namespace sluice::server::kubernetes {

class CertificateKeeper {
 public:
  struct Options {
    std::string namespace_ = {};
    std::string secret = "sluice-tls";
    CertificateSpec wanted = {};
    std::string webhooks = {};  // name of the MutatingWebhookConfiguration; "": none
    std::chrono::milliseconds check_every{10'000};
  };

  // REQUIRES: the references outlive the keeper.
  CertificateKeeper(boost::asio::io_context& loop, Api& api, Options options, const Clock& clock, telemetry::Log& log);
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  // Starts the first round; more follow periodically. `on_first` is called when the first certificate is in force.
  void start(std::function<void()> on_first);
  void stop();   // no more rounds
  void check();  // starts a round now, unless one is running

  // The certificate in force, for listeners; empty until the first one is in force.
  const std::shared_ptr<sluice::http::Certificates>& certificates() const { return certificates_; }
  // The authorities that clients must trust, PEM; "" until a certificate is in force.
  const std::string& ca_pem() const { return trusted_; }
  // Why the last round failed, as text for people; nullopt: it succeeded.
  const std::optional<std::string>& last_error() const { return last_error_; }

  struct Statistics {
    std::atomic<std::uint64_t> rotations{0};    // certificates put in force after the first
    std::atomic<std::uint64_t> failures{0};     // rounds that failed
    std::atomic<std::int64_t> ca_not_after{0};  // when the authority in force expires, Unix time; 0: there is none
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  using AnswerHandler = void (CertificateKeeper::*)(Result<ApiResponse>);

  void send(std::string method, std::string path, std::string body, AnswerHandler handler,
            std::string content_type = "application/json");
  void begin_attempt();
  void on_webhooks(Result<ApiResponse> answer);
  void read_secret();
  void on_secret(Result<ApiResponse> answer);
  void decide();
  void write(Step step);
  void on_secret_written(Result<ApiResponse> answer);
  void update_webhooks();
  void on_webhooks_updated(Result<ApiResponse> answer);
  void put_in_force();
  void finish();
  void record_error(const Error& error);
  bool next_is_trusted();
  bool may_serve() const;
  std::chrono::sys_seconds now() const;
  std::string secret_path() const;

  Api& api_;
  const Options options_;
  const Clock& clock_;
  telemetry::Log& log_;
  boost::asio::steady_timer timer_;
  Backoff backoff_;
  const std::shared_ptr<sluice::http::Certificates> certificates_ = sluice::http::Certificates::without_files();
  // Callbacks have a weak_ptr to it, which expires when the keeper is destroyed. So late answers are ignored.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::function<void()> on_first_;
  bool stopped_ = false;

  // State of the running round.
  bool checking_ = false;  // a round is running
  int attempts_ = 0;       // how often this round has started
  Webhooks webhooks_;
  bool webhooks_known_ = false;  // the configuration was read, or there is none
  TlsSecret secret_;
  Facts facts_;  // what examine() found in the Secret of version examined_version_
  Step step_ = Step::none;
  std::optional<Error> error_;  // the first error of this round

  // State that lasts across rounds.
  std::string examined_version_;             // the resourceVersion of the Secret that facts_ describes
  std::string announced_;                    // the next authority, PEM, if all webhooks trust it; else ""
  std::chrono::sys_seconds announced_at_{};  // when the keeper first saw that all webhooks trust announced_
  Served served_;
  std::string served_chain_;  // the certificate in force and its bridges, PEM
  std::string trusted_;       // see ca_pem()
  std::optional<std::string> last_error_;
  Statistics statistics_;
};

}  // namespace sluice::server::kubernetes
