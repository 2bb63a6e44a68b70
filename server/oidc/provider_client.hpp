// Asks the provider: its discovery document and its keys, which are kept for a while, and token requests.
//
// Invariants: each request has a deadline (kDeadline) and a largest answer, and nothing but the sign-ins that need the
// answer waits for it. The documents are asked for at most once at a time, and after a failure not before kPause is
// over. So a provider that is away costs it and this server little, however many people try.
// Thread: the event loop's; statistics() from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/telemetry/log.hpp"
#include "server/oidc/attempt.hpp"
#include "server/oidc/key_set.hpp"
#include "server/oidc/provider.hpp"
#include "server/oidc/setup.hpp"

namespace sluice::server::oidc {

using ProviderPtr = std::shared_ptr<const Provider>;
using KeySetPtr = std::shared_ptr<const KeySet>;

class ProviderClient {
 public:
  static constexpr std::chrono::seconds kDeadline{10};  // of one request
  static constexpr std::chrono::seconds kPause{1};      // after a failure, and between two reads of the keys
  static constexpr std::chrono::minutes kKeep{10};      // how long the documents count

  struct Statistics {
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> failed{0};
  };

  // `setup` and `log` outlive this object.
  ProviderClient(boost::asio::io_context& loop, const Setup& setup, telemetry::Log& log);
  ~ProviderClient();  // calls nobody back any more
  ProviderClient(const ProviderClient&) = delete;

  // The discovery document. Calls `done` once, possibly before it returns.
  void find(std::function<void(Result<ProviderPtr>)> done);
  // The keys. `fresh`: read them again, because they lack one; within kPause, the same ones are the answer.
  void find_keys(const ProviderPtr& provider, bool fresh, std::function<void(Result<KeySetPtr>)> done);
  // Exchanges the code for an ID token.
  void exchange(const ProviderPtr& provider, const Attempt& attempt, const std::string& code,
                std::function<void(Result<std::string>)> done);

  const Statistics& statistics() const { return statistics_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  // A document that is kept, and those that wait for it.
  template <class Document>
  struct Kept {
    using Waiter = std::function<void(Result<std::shared_ptr<const Document>>)>;
    std::shared_ptr<const Document> document;
    Time read_at;
    std::optional<Error> error;  // of the last read
    std::vector<Waiter> waiting;
  };
  struct Fetch;
  using Done = std::function<void(Result<http_client::Response>)>;

  template <class Document, class Read>
  void fetch_document(Kept<Document>& kept, const Endpoint& endpoint, Read read);
  void send(const Endpoint& endpoint, http_client::Request request, Done done);
  void finish(Fetch& fetch, Result<http_client::Response> result);
  void note(const std::optional<Error>& error);

  boost::asio::io_context& loop_;
  const Setup& setup_;
  telemetry::Log& log_;
  Statistics statistics_;
  std::list<std::shared_ptr<Fetch>> fetches_;
  Kept<Provider> provider_;
  Kept<KeySet> keys_;
  bool away_ = false;  // the last request got no usable answer
};

}  // namespace sluice::server::oidc
