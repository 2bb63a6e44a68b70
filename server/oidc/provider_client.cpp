#include "server/oidc/provider_client.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/steady_timer.hpp>

#include "server/oidc/requests.hpp"

namespace sluice::server::oidc {
namespace {

using std::chrono::steady_clock;

http_client::Options client_options(const Endpoint& endpoint, const Setup& setup) {
  return {.server = endpoint.server,
          .tls = {.ca = setup.ca_file},
          .connect_timeout = ProviderClient::kDeadline,
          .head_timeout = ProviderClient::kDeadline,
          .idle_timeout = ProviderClient::kDeadline,
          .user_agent = "sluice-server"};
}

Result<http_client::Response> only_success(Result<http_client::Response> result, const Endpoint& endpoint) {
  if (!result || result->status == 200) return result;
  return failure("status", fmt::format("the provider answered {} to GET {}", result->status, endpoint.text));
}

}  // namespace

struct ProviderClient::Fetch {
  Fetch(boost::asio::io_context& loop, http_client::Options options) : client(loop, std::move(options)), timer(loop) {}

  http_client::Client client;
  boost::asio::steady_timer timer;
  Done done;
};

ProviderClient::ProviderClient(boost::asio::io_context& loop, const Setup& setup, telemetry::Log& log)
    : loop_(loop), setup_(setup), log_(log) {}

ProviderClient::~ProviderClient() = default;

void ProviderClient::send(const Endpoint& endpoint, http_client::Request request, Done done) {
  const auto made = std::make_shared<Fetch>(loop_, client_options(endpoint, setup_));
  fetches_.push_back(made);
  Fetch& fetch = *made;
  fetch.done = std::move(done);
  fetch.timer.expires_after(kDeadline);
  fetch.timer.async_wait([this, weak = std::weak_ptr(made)](const boost::system::error_code& stopped) {
    const auto late = weak.lock();
    if (stopped || !late) return;
    late->client.cancel();
    finish(*late, failure("timeout", fmt::format("the provider did not answer within {} s", kDeadline.count())));
  });
  fetch.client.send(std::move(request),
                    [this, &fetch](Result<http_client::Response> result) { finish(fetch, std::move(result)); });
}

// Removes the fetch first, because whoever waits for it may send the next one.
void ProviderClient::finish(Fetch& fetch, Result<http_client::Response> result) {
  const auto found = std::ranges::find(fetches_, &fetch, [](const auto& each) { return each.get(); });
  if (found == fetches_.end()) return;
  const std::shared_ptr<Fetch> ended = std::move(*found);
  fetches_.erase(found);
  ended->timer.cancel();
  (result ? statistics_.answered : statistics_.failed).fetch_add(1, std::memory_order_relaxed);
  ended->done(std::move(result));
}

// REQUIRES: somebody waits.
template <class Document, class Read>
void ProviderClient::fetch_document(Kept<Document>& kept, const Endpoint& endpoint, Read read) {
  http_client::Request request{
      .target = endpoint.target, .fields = {{"Accept", "application/json"}}, .max_body = kMaxDocumentBytes};
  send(endpoint, std::move(request), [this, &kept, endpoint, read](Result<http_client::Response> result) {
    const auto answer = only_success(std::move(result), endpoint);
    Result<Document> document = answer ? read(answer->body) : std::unexpected(answer.error());
    kept.read_at = steady_clock::now();
    kept.error.reset();
    if (document) {
      kept.document = std::make_shared<const Document>(std::move(*document));
    } else {
      kept.error = document.error();
    }
    note(kept.error);
    const auto waiting = std::exchange(kept.waiting, {});
    const std::optional<Error> error = kept.error;
    const auto found = kept.document;
    for (const auto& done : waiting) {
      if (error) {
        done(std::unexpected(*error));
      } else {
        done(found);
      }
    }
  });
}

void ProviderClient::find(std::function<void(Result<ProviderPtr>)> done) {
  const auto age = steady_clock::now() - provider_.read_at;
  if (provider_.error && age < kPause) return done(std::unexpected(*provider_.error));
  if (provider_.document && !provider_.error && age < kKeep) return done(provider_.document);
  provider_.waiting.push_back(std::move(done));
  if (provider_.waiting.size() > 1) return;
  Endpoint endpoint = setup_.issuer;
  endpoint.target = discovery_target(setup_.issuer);
  fetch_document(provider_, endpoint,
                 [this](const std::string& body) { return read_provider(body, setup_.issuer.text); });
}

void ProviderClient::find_keys(const ProviderPtr& provider, bool fresh, std::function<void(Result<KeySetPtr>)> done) {
  const auto age = steady_clock::now() - keys_.read_at;
  if (keys_.error && age < kPause) return done(std::unexpected(*keys_.error));
  const bool good = keys_.document && !keys_.error;
  if (good && age < (fresh ? std::chrono::seconds(kPause) : std::chrono::seconds(kKeep))) return done(keys_.document);
  keys_.waiting.push_back(std::move(done));
  if (keys_.waiting.size() > 1) return;
  fetch_document(keys_, provider->keys, [](const std::string& body) { return read_key_set(body); });
}

void ProviderClient::exchange(const ProviderPtr& provider, const Attempt& attempt, const std::string& code,
                              std::function<void(Result<std::string>)> done) {
  const Result<std::string> secret = read_secret(setup_.secret_file);
  if (!secret) {
    Error error = secret.error();
    error.text = "the file of --oidc-client-secret-file " + error.text;
    note(error);
    return done(std::unexpected(std::move(error)));
  }
  send(provider->token, token_request(*provider, setup_, attempt, code, *secret),
       [this, done = std::move(done)](const Result<http_client::Response>& result) {
         Result<std::string> token =
             result ? read_token_answer(result->status, result->body) : std::unexpected(result.error());
         const bool usable = token || token.error().code == "rejected";
         note(usable ? std::nullopt : std::optional(token.error()));
         done(std::move(token));
       });
}

// One line when the provider goes, and one when it is back.
void ProviderClient::note(const std::optional<Error>& error) {
  if (error && !away_) {
    log_.warn("oidc_provider_away",
              "The OpenID provider gives no usable answer: nobody can sign in by it. Sessions and admin tokens still "
              "work, and each sign-in asks again.",
              {{"code", error->code}, {"reason", error->text}, {"issuer", setup_.issuer.text}});
  }
  if (!error && away_) log_.info("oidc_provider_back", "The OpenID provider answers again.");
  away_ = error.has_value();
}

}  // namespace sluice::server::oidc
