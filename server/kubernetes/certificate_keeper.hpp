// Creates and renews the server's certificate in a Secret, and puts the Secret's certificate in force.
//
// Every server of a cluster has a keeper for the same Secret. The first server that writes a step wins: the writes of
// other servers name an old resourceVersion, so the API server refuses them.
// A round, which is repeated periodically:
//   1. read the webhook configuration, then the Secret; this order keeps an older caBundle (the authorities that the
//      API server trusts when it calls a webhook) from replacing a newer one
//   2. if there is a next step (see certificate_plan.hpp), carry it out and start again
//   3. write the authorities (CA certificates) to the caBundle of the webhooks
//   4. put the certificate in force
// If anything fails, the certificate in force stays.
//
// Thread: the loop's; statistics, certificates() and last_error() may be used from any thread.
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
#include "common/base/guarded_text.hpp"
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
    std::string cache = {};     // file for the certificate served last; "": none
    std::string webhooks = {};  // name of the MutatingWebhookConfiguration; "": none
    std::chrono::milliseconds check_every{10'000};
  };

  // REQUIRES: the references outlive the keeper.
  CertificateKeeper(boost::asio::io_context& loop, Api& api, Options options, const Clock& clock, telemetry::Log& log);
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  // `on_first` is called when the first certificate is in force: at once if the cache has a valid one.
  void start(std::function<void()> on_first);
  void stop();
  void check();  // starts a round now, unless one is running

  // Empty until the first certificate is in force.
  const std::shared_ptr<sluice::http::Certificates>& certificates() const { return certificates_; }
  // The authorities that clients must trust, PEM; "" until a certificate is in force.
  const std::string& ca_pem() const { return trusted_; }
  // The error of the last round; "" if that round succeeded.
  std::string last_error() const { return last_error_.get(); }

  struct Statistics {
    std::atomic<std::uint64_t> rotations{0};    // certificates put in force after the first
    std::atomic<std::uint64_t> failures{0};     // rounds that failed
    std::atomic<std::int64_t> ca_not_after{0};  // Unix time; 0: no authority is in force
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
  void start_from_cache();
  void save_cache();
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
  // Expires with the keeper, so that callbacks ignore late answers.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  std::function<void()> on_first_;
  bool stopped_ = false;

  // State of the running round.
  bool checking_ = false;
  int attempts_ = 0;  // how many times this round was started
  Webhooks webhooks_;
  bool webhooks_known_ = false;  // the configuration was read, or does not exist
  TlsSecret secret_;
  Facts facts_;
  Step step_ = Step::none;
  std::optional<Error> error_;  // the first error of the round

  // State that lasts across rounds.
  std::string examined_version_;  // the resourceVersion of the Secret that facts_ describes
  std::string announced_;         // the next authority, PEM, if all webhooks trust it; else ""
  std::chrono::sys_seconds announced_at_{};
  Served served_;
  std::string served_chain_;  // the certificate in force and its bridges (certificates.hpp), PEM
  std::string trusted_;
  bool cache_is_current_ = false;  // the cache has the certificate in force
  GuardedText last_error_;
  Statistics statistics_;
};

}  // namespace sluice::server::kubernetes
