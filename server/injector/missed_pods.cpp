#include "server/injector/missed_pods.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/base/percent_encoding.hpp"
#include "common/base/utf8.hpp"
#include "common/json/tree.hpp"
#include "server/injector/names.hpp"
#include "server/injector/pod.hpp"
#include "server/injector/skip.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::chrono::seconds kDeadline{20};
constexpr std::size_t kNamespacePage = 500;
constexpr std::size_t kPodPage = 200;      // about 1 MB of metadata, which the loop parses in one go
constexpr std::size_t kMaxEvents = 200;    // per scan
constexpr std::size_t kMaxWhyBytes = 800;  // leaves room for the advice in an Event's message

std::string namespaces_path() {
  const std::string label = percent_encode(fmt::format("{}=enabled", kInjectLabel));
  return fmt::format("/api/v1/namespaces?labelSelector={}&limit={}", label, kNamespacePage);
}

// Metadata do not tell which pods use the node's network, so the API server lists them separately. Their Event is right
// even if the webhook left no note on them.
std::string pods_path(std::string_view namespace_, std::size_t page, bool host_network) {
  const std::string fields =
      fmt::format("status.phase!=Succeeded,status.phase!=Failed,spec.hostNetwork{}=true", host_network ? "" : "!");
  return fmt::format("/api/v1/namespaces/{}/pods?labelSelector={}&fieldSelector={}&limit={}",
                     percent_encode(namespace_), percent_encode(fmt::format("{}!=disabled", kInjectLabel)),
                     percent_encode(fields), page);
}

kubernetes::Event event_of(const kubernetes::ObjectReference& pod, std::string_view why_skipped) {
  if (!why_skipped.empty()) {
    return {.type = kubernetes::Event::Type::warning,
            .reason = "SidecarMissing",
            .message = fmt::format("The pod runs without the Sluice agent: {}. If the pod needs no agent, label it "
                                   "{}=disabled.",
                                   utf8_prefix(why_skipped, kMaxWhyBytes), kInjectLabel)};
  }
  return {
      .type = kubernetes::Event::Type::warning,
      .reason = "SidecarMissing",
      .message = fmt::format(
          "The pod runs without the Sluice agent, though its namespace {} has the label {}=enabled: the pod was "
          "created before the label, or while the injector did not answer, or an older injector skipped it without "
          "a note. To give the pod an agent, or the note, recreate it (kubectl rollout restart of its owner). If the "
          "pod needs no agent, label the pod {}=disabled.",
          pod.namespace_, kInjectLabel, kInjectLabel)};
}

}  // namespace

MissedPods::MissedPods(boost::asio::io_context& loop, kubernetes::Api& api, const InjectorSettings& settings,
                       const Clock& clock, telemetry::Log& log, std::chrono::milliseconds every)
    : api_(api),
      settings_(settings),
      clock_(clock),
      log_(log),
      every_(every),
      timer_(loop),
      alive_(std::make_shared<int>()) {}

void MissedPods::scan() {
  namespaces_.clear();
  continue_token_.clear();
  missed_.clear();
  skipped_.clear();
  page_ = kPodPage;
  request(List::namespaces);
}

void MissedPods::stop() {
  alive_.reset();
  timer_.cancel();
}

void MissedPods::request(List list) {
  std::string path = list == List::namespaces ? namespaces_path()
                                              : pods_path(namespaces_.back(), page_, list == List::host_network_pods);
  if (!continue_token_.empty()) path += "&continue=" + percent_encode(continue_token_);
  const auto on_answer = [this, list, alive = std::weak_ptr(alive_)](const Answer& answer) {
    if (!alive.expired()) on_page(list, answer);
  };
  api_.send("GET", std::move(path), {}, kDeadline, on_answer, {}, kubernetes::kMetadataList);
}

void MissedPods::on_page(List list, const Answer& answer) {
  if (!answer && answer.error().code == "too_large" && list != List::namespaces && page_ > 1) {
    page_ /= 2;
    return request(list);
  }
  if (!answer) return fail(answer.error().text);
  const bool namespace_gone = list != List::namespaces && answer->status == 404;
  if (!namespace_gone && answer->status != 200) return fail(kubernetes::error_text(*answer));
  if (namespace_gone) {
    continue_token_.clear();
  } else if (!read_page(list, answer->body)) {
    return fail("the Kubernetes API's answer is not a list");
  }
  if (!continue_token_.empty()) return request(list);
  on_list_read(list);
}

void MissedPods::on_list_read(List list) {
  if (list == List::pods) return request(List::host_network_pods);
  if (list == List::host_network_pods) namespaces_.pop_back();
  request_next();
}

bool MissedPods::read_page(List list, std::string_view body) {
  json::Tree tree;
  const auto root = tree.parse(body);
  if (!root || root->find("items") == nullptr) return false;
  continue_token_ = root->get("metadata").text_of("continue");
  for (const json::Value& item : root->items_of("items")) {
    if (list == List::namespaces) {
      const std::string_view name = item.get("metadata").text_of("name");
      if (!is_excluded(name, settings_)) namespaces_.emplace_back(name);
    } else {
      read_pod(list, item);
    }
  }
  return true;
}

void MissedPods::read_pod(List list, const json::Value& item) {
  const Pod pod(item);
  const json::Value& metadata = pod.metadata();
  if (member(metadata, "deletionTimestamp") != nullptr) return;
  const bool without_note = was_missed(pod);
  const bool is_missed = without_note && list == List::pods;
  const std::string_view why = without_note ? kHostNetworkText : why_skipped(pod);
  if (!is_missed && why.empty()) return;
  Found found{.pod = {.namespace_ = namespaces_.back(),
                      .name = std::string(metadata.text_of("name")),
                      .uid = std::string(metadata.text_of("uid"))},
              .why = is_missed ? std::string() : std::string(why)};
  (is_missed ? missed_ : skipped_).push_back(std::move(found));
}

void MissedPods::request_next() { return namespaces_.empty() ? finish() : request(List::pods); }

void MissedPods::finish() {
  const auto count = static_cast<std::int64_t>(missed_.size());
  if (statistics_.missed.exchange(count) != count) {
    log_.write(count > 0 ? telemetry::LogLevel::warn : telemetry::LogLevel::info, "missed_pods",
               "The number of pods that run without the agent in labelled namespaces has changed; each of these pods "
               "gets an Event SidecarMissing.",
               {{"pods", count}});
  }
  std::unordered_set<std::string> still;
  without_event_.clear();
  for (std::vector<Found>* const list : {&missed_, &skipped_}) {
    for (Found& found : *list) {
      if (with_event_.contains(found.pod.uid))
        still.insert(found.pod.uid);
      else if (without_event_.size() < kMaxEvents)
        without_event_.push_back(std::move(found));
    }
  }
  with_event_ = std::move(still);
  event_refusal_.clear();
  create_next_event();
}

// The API server can refuse an Event, for example in a namespace that is being deleted. The other Events are still
// created.
void MissedPods::create_next_event() {
  if (without_event_.empty()) {
    if (!event_refusal_.empty()) return fail(event_refusal_);
    ++statistics_.scans;
    if (std::exchange(failing_, false)) log_.info("missed_pods_known", "The Kubernetes API answers again.");
    return schedule_next();
  }
  const auto& [pod, why] = without_event_.back();
  const auto now = std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(clock_.now_us())));
  kubernetes::create_event(api_, pod, event_of(pod, why), now,
                           [this, alive = std::weak_ptr(alive_)](Result<bool> created) {
                             if (!alive.expired()) on_event_created(created);
                           });
}

void MissedPods::on_event_created(const Result<bool>& created) {
  if (!created && created.error().code != "refused") return fail(created.error().text);
  if (!created) {
    event_refusal_ = created.error().text;
  } else {
    if (*created) ++statistics_.events;
    with_event_.insert(std::move(without_event_.back().pod.uid));
  }
  without_event_.pop_back();
  create_next_event();
}

void MissedPods::fail(std::string_view why) {
  ++statistics_.failures;
  if (!std::exchange(failing_, true)) {
    log_.warn(
        "missed_pods_unknown",
        fmt::format("The server cannot find the pods that run without the agent, or cannot create Events for them: {}. "
                    "It needs the permission to list namespaces and pods, and to create events.",
                    why));
  }
  schedule_next();
}

void MissedPods::schedule_next() {
  timer_.expires_after(every_);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& stopped) {
    if (!stopped && !alive.expired()) scan();
  });
}

}  // namespace sluice::server::injector
