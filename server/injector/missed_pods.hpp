// Finds pods of labelled namespaces that run without a sidecar, and writes one Event for each that says why.
//
// Missed pods are those that the webhook has neither given a sidecar nor skipped: such a pod was created while the
// injector did not answer, or before its namespace had the label. MissedPods counts them. Skipped pods, among them all
// on the node's network, get an Event too but do not count, because nothing went wrong.
//
// It asks the API server for metadata alone, and sees no container, variable or volume of a pod.
//
// Thread: the loop's; the statistics may be read from any thread. REQUIRES: the objects that the constructor gets by
// reference outlive this object.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/clock.hpp"
#include "common/json/tree.hpp"
#include "common/telemetry/log.hpp"
#include "server/injector/settings.hpp"
#include "server/kubernetes/api_client.hpp"
#include "server/kubernetes/events.hpp"

namespace sluice::server::injector {

class MissedPods {
 public:
  struct Statistics {
    std::atomic<std::int64_t> missed{0};  // pods that the last scan found
    std::atomic<std::uint64_t> scans{0};  // scans that succeeded
    std::atomic<std::uint64_t> failures{0};
    std::atomic<std::uint64_t> events{0};
  };

  MissedPods(boost::asio::io_context& loop, kubernetes::Api& api, const InjectorSettings& settings, const Clock& clock,
             telemetry::Log& log, std::chrono::milliseconds every);

  void scan();  // starts a scan now; more follow periodically
  void stop();

  const Statistics& statistics() const { return statistics_; }

 private:
  using Answer = Result<kubernetes::ApiResponse>;
  enum class List : std::uint8_t { namespaces, pods, host_network_pods };
  struct Found {
    kubernetes::ObjectReference pod;
    std::string why;  // the webhook skipped the pod; "": the pod was missed
  };

  void request(List list);
  void on_page(List list, const Answer& answer);
  bool read_page(List list, std::string_view body);
  void read_pod(List list, const json::Value& item);
  void on_list_read(List list);
  void request_next();
  void finish();
  void create_next_event();
  void on_event_created(const Result<bool>& created);
  void fail(std::string_view why);
  void schedule_next();

  kubernetes::Api& api_;
  const InjectorSettings& settings_;
  const Clock& clock_;
  telemetry::Log& log_;
  const std::chrono::milliseconds every_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<int> alive_;  // reset by stop(); later answers are ignored
  Statistics statistics_;

  // State of the current scan.
  std::vector<std::string> namespaces_;  // still to be scanned
  std::string continue_token_;           // the API server's mark for the next page; "": the first page
  std::size_t page_ = 0;                 // how many pods a page may have; halved if a page is too large
  std::vector<Found> missed_;
  std::vector<Found> skipped_;

  std::vector<Found> without_event_;
  std::unordered_set<std::string> with_event_;  // uids of pods
  std::string event_refusal_;
  bool failing_ = false;
};

}  // namespace sluice::server::injector
