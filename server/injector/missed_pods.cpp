#include "server/injector/missed_pods.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "common/base/percent_encoding.hpp"
#include "common/json/tree.hpp"
#include "server/injector/inject.hpp"
#include "server/injector/names.hpp"
#include "server/injector/pod.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::chrono::seconds kDeadline{20};
constexpr std::size_t kNamespacePage = 500;
constexpr std::size_t kPodPage = 50;     // about 1 MB, which the loop parses in one go
constexpr std::size_t kMaxMarked = 200;  // Events per scan; a newly labelled namespace may have many running pods

std::string namespaces_path() {
  const std::string label = percent_encode(fmt::format("{}=enabled", kInjectLabel));
  return fmt::format("/api/v1/namespaces?labelSelector={}&limit={}", label, kNamespacePage);
}

std::string pods_path(std::string_view namespace_, std::size_t page) {
  return fmt::format("/api/v1/namespaces/{}/pods?labelSelector={}&fieldSelector={}&limit={}",
                     percent_encode(namespace_), percent_encode(fmt::format("{}!=disabled", kInjectLabel)),
                     percent_encode("status.phase!=Succeeded,status.phase!=Failed"), page);
}

kubernetes::Event event_of(const kubernetes::ObjectReference& pod) {
  return {.type = kubernetes::Event::Type::warning,
          .reason = "SidecarMissing",
          .message = fmt::format(
              "The pod runs without the Sluice agent, though its namespace {} has the label {}=enabled: it was made "
              "before the label, or while the injector did not answer. Make it anew (kubectl rollout restart, for what "
              "owns it) to give it one, or label it {}=disabled.",
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
      life_(std::make_shared<int>()) {}

void MissedPods::scan() {
  namespaces_.clear();
  continue_.clear();
  found_.clear();
  page_ = kPodPage;
  ask(List::namespaces);
}

void MissedPods::stop() {
  life_.reset();
  timer_.cancel();
}

void MissedPods::ask(List list) {
  std::string path = list == List::namespaces ? namespaces_path() : pods_path(namespaces_.back(), page_);
  if (!continue_.empty()) path += "&continue=" + percent_encode(continue_);
  api_.send("GET", std::move(path), {}, kDeadline, [this, list, life = std::weak_ptr(life_)](Answer answer) {
    if (!life.expired()) take(list, answer);
  });
}

void MissedPods::take(List list, const Answer& answer) {
  if (!answer && answer.error().code == "too_large" && list == List::pods && page_ > 1) {
    page_ /= 2;
    return ask(list);
  }
  if (!answer) return fail(answer.error().text);
  const bool gone = list == List::pods && answer->status == 404;  // the namespace
  if (!gone && answer->status != 200) return fail(kubernetes::error_text(*answer));
  if (gone) {
    continue_.clear();
  } else if (!read(list, answer->body)) {
    return fail("its answer is not a list");
  }
  if (!continue_.empty()) return ask(list);
  if (list == List::pods) namespaces_.pop_back();
  next();
}

// Reads one page: its items, and the token of the next page.
bool MissedPods::read(List list, std::string_view body) {
  json::Tree tree;
  const auto root = tree.parse(body);
  if (!root || root->find("items") == nullptr) return false;
  continue_ = root->get("metadata").text_of("continue");
  for (const json::Value& item : root->items_of("items")) {
    if (list == List::namespaces) {
      namespaces_.emplace_back(item.get("metadata").text_of("name"));
    } else {
      read_pod(item);
    }
  }
  return true;
}

void MissedPods::read_pod(const json::Value& pod) {
  const json::Value metadata = pod.get("metadata");
  if (member(metadata, "deletionTimestamp") != nullptr || !lacks_sidecar(pod, namespaces_.back(), settings_)) return;
  found_.push_back({.namespace_ = namespaces_.back(),
                    .name = std::string(metadata.text_of("name")),
                    .uid = std::string(metadata.text_of("uid"))});
}

void MissedPods::next() { return namespaces_.empty() ? finish() : ask(List::pods); }

void MissedPods::finish() {
  const auto count = static_cast<std::int64_t>(found_.size());
  if (statistics_.missed.exchange(count) != count) {
    log_.write(count > 0 ? telemetry::LogLevel::warn : telemetry::LogLevel::info, "missed_pods",
               "Pods of labelled namespaces run without the agent; each has an Event SidecarMissing.",
               {{"pods", count}});
  }
  std::unordered_set<std::string> still;
  unmarked_.clear();
  for (kubernetes::ObjectReference& pod : found_) {
    if (marked_.contains(pod.uid))
      still.insert(pod.uid);
    else if (unmarked_.size() < kMaxMarked)
      unmarked_.push_back(std::move(pod));
  }
  marked_ = std::move(still);
  refused_.clear();
  mark();
}

// Creates the Events one after the other. If the API server refuses one (for example in a namespace that is being
// deleted), the others are still created.
void MissedPods::mark() {
  if (unmarked_.empty()) {
    if (!refused_.empty()) return fail(refused_);
    ++statistics_.scans;
    if (std::exchange(failing_, false)) log_.info("missed_pods_seen", "The Kubernetes API answers again.");
    return end();
  }
  const kubernetes::ObjectReference& pod = unmarked_.back();
  const auto now = std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::microseconds>(std::chrono::microseconds(clock_.now_us())));
  kubernetes::create_event(api_, pod, event_of(pod), now, [this, life = std::weak_ptr(life_)](Result<bool> created) {
    if (!life.expired()) marked(created);
  });
}

void MissedPods::marked(const Result<bool>& created) {
  if (!created && created.error().code != "refused") return fail(created.error().text);
  if (!created) {
    refused_ = created.error().text;
  } else {
    if (*created) ++statistics_.events;
    marked_.insert(std::move(unmarked_.back().uid));
  }
  unmarked_.pop_back();
  mark();
}

void MissedPods::fail(std::string_view why) {
  ++statistics_.failures;
  if (!std::exchange(failing_, true)) {
    log_.warn(
        "missed_pods_unknown",
        fmt::format("The server cannot list pods without the agent, or create Events for them: {}. It needs list on "
                    "namespaces and pods, and create on events.",
                    why));
  }
  end();
}

void MissedPods::end() {
  timer_.expires_after(every_);
  timer_.async_wait([this, life = std::weak_ptr(life_)](const boost::system::error_code& stopped) {
    if (!stopped && !life.expired()) scan();
  });
}

}  // namespace sluice::server::injector
