// Answers the console's routes about signing in: which ways there are, and signing in by OpenID Connect.
//
//   GET /v1/console/sign-in        which ways there are
//   GET /v1/console/oidc/start     sends the browser to the provider
//   GET /v1/console/oidc/callback  the provider sends the browser back, with a code; a session begins
//
// A browser that fails comes back to the console, with a code of kFailures in the query parameter `sign_in`; any other
// client gets a problem document.
//
// Thread: the event loop's; statistics() from any thread. Transactions run on the pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <boost/asio/io_context.hpp>

#include "common/base/clock.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/log.hpp"
#include "server/auth/throttle.hpp"
#include "server/http/refusal.hpp"
#include "server/oidc/provider_client.hpp"
#include "server/oidc/setup.hpp"
#include "server/oidc/sign_in_store.hpp"
#include "server/postgres/pool.hpp"
#include "server/sessions/request_check.hpp"

namespace sluice::server::oidc {

class SignInService final : public sluice::http::Handler {
 public:
  static constexpr std::string_view kPrefix = "/v1/console/";
  // Sign-ins that wait for the provider or for PostgreSQL at a time. Further ones are refused at once.
  static constexpr std::size_t kMostAtOnce = 100;
  static constexpr std::size_t kMostOfSource = 25;  // of one address; of one that fails too often, one

  struct Statistics {
    std::atomic<std::uint64_t> signed_in{0};
    std::atomic<std::uint64_t> refused{0};  // by the provider, by the checks, or because no group has a mapping
    std::atomic<std::uint64_t> failed{0};   // because the provider or PostgreSQL was away
  };

  struct Parts {
    boost::asio::io_context& loop;
    postgres::Pool& pool;
    auth::FailureThrottle& throttle;
    const Clock& clock;
    telemetry::Log& log;
    std::function<bool(std::string_view path)> is_view;  // whether the console has a view at this path
  };

  // REQUIRES: `setup` and what `parts` refers to outlive this object. `setup`: nullptr if there is no provider.
  SignInService(Parts parts, const Setup* setup, sessions::Site site);
  ~SignInService() override;

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  bool answers(std::string_view method, std::string_view path) const override;
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override;

  const Statistics& statistics() const { return statistics_; }

 private:
  struct Visit;
  using VisitPtr = std::shared_ptr<Visit>;

  void answer(const VisitPtr& visit, const sluice::http::Request& request);
  void list_ways(const VisitPtr& visit);
  void start(const VisitPtr& visit, std::string_view query);
  void call_back(const VisitPtr& visit, const sluice::http::Request& request);
  void exchange(const VisitPtr& visit, const std::string& code);
  void check(const VisitPtr& visit, const std::string& token, bool fresh_keys);
  void store(const VisitPtr& visit, Identity identity);
  void finish(const VisitPtr& visit, std::optional<SignedIn> done);
  bool take_place(const VisitPtr& visit);
  void leave_place(const VisitPtr& visit);
  void refuse(const VisitPtr& visit, std::string_view code, http::Refusal refusal);
  void refuse_person(const VisitPtr& visit, std::string_view code, http::Refusal refusal);
  void refuse_for_provider(const VisitPtr& visit, const Error& error);
  void send(const VisitPtr& visit, const http::Answer& answer);

  const Parts parts_;
  const Setup* const setup_;
  const sessions::Site site_;
  std::unique_ptr<ProviderClient> provider_;  // nullptr as setup_
  std::size_t running_ = 0;
  std::unordered_map<std::string, std::size_t> running_of_source_;
  Statistics statistics_;
};

}  // namespace sluice::server::oidc
