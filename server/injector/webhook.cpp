#include "server/injector/webhook.hpp"

#include <charconv>
#include <chrono>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "common/http/problem_page.hpp"
#include "server/http/request_span.hpp"
#include "server/injector/admission_response.hpp"
#include "server/injector/admission_review.hpp"
#include "server/injector/metrics.hpp"
#include "server/injector/pod.hpp"

namespace sluice::server::injector {
namespace {

using std::chrono::steady_clock;

// The index of `refused` in reviews_spec(), where it follows the values of Injection::Result.
constexpr std::size_t kRefused = 4;
constexpr std::size_t kSmallBody = 16UL << 10;  // bytes
constexpr std::string_view kRouteName = "POST /v1/inject";
constexpr std::string_view kNoStore = "Cache-Control: no-store\r\n";

struct Refusal {
  unsigned status = 400;
  std::string_view reason = "BadRequest";  // a value of Kubernetes' type StatusReason
  std::string text;
  std::string_view headers = kNoStore;
};

std::optional<Refusal> refuse_head(const sluice::http::Request& head) {
  if (head.path != Webhook::kPath) return Refusal{404, "NotFound", "The injector has POST /v1/inject only."};
  if (head.method != "POST") {
    return Refusal{405, "MethodNotAllowed", "The injector takes POST only.", "Allow: POST\r\n"};
  }
  const std::string_view type = head.header("content-type");
  if (type.substr(0, type.find_first_of("; ")) != "application/json") {
    return Refusal{415, "UnsupportedMediaType", "An AdmissionReview is sent as application/json."};
  }
  return std::nullopt;
}

Refusal too_large(std::string_view size) {
  return {
      413, "RequestEntityTooLarge",
      fmt::format("The AdmissionReview has {} bytes, and the injector takes at most {}. Kubernetes could not store so "
                  "large a pod either. Keep data in ConfigMaps instead of annotations and variables.",
                  size, Webhook::kMaxReview)};
}

void describe(const AdmissionRequest& review, const Injection& made, tracing::Span& span) {
  span.set("k8s.namespace.name", review.namespace_);
  if (review.pod != nullptr) span.set("k8s.pod.name", Pod(*review.pod).name());
  span.set("sluice.inject.result", to_string(made.result));
  span.set("sluice.inject.patched", !made.patch.empty());
  span.set("sluice.inject.dry_run", review.dry_run);
  span.set("sluice.inject.warnings", made.warnings.size());
  if (made.skip) span.set("sluice.inject.skipped", to_string(made.skip->reason));
}

}  // namespace

Webhook::Webhook(Settings settings, telemetry::Log& log, tracing::Tracer* tracer)
    : reviews(reviews_spec()),
      skipped(skipped_pods_spec()),
      duration(review_duration_spec()),
      settings_(std::move(settings)),
      log_(log),
      tracer_(tracer) {}

std::size_t Webhook::body_limit(std::string_view method, std::string_view path) const {
  return method == "POST" && path == kPath ? std::numeric_limits<std::size_t>::max() / 2 : kSmallBody;
}

void Webhook::admit(sluice::http::Request& head, sluice::http::Admission admission) {
  const std::string_view length = head.header("content-length");
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
  const bool known = !length.empty() && error == std::errc{} && end == length.data() + length.size();
  if (known && bytes <= kMaxReview) return admission.read_body();
  const Refusal refusal = known || !length.empty()
                              ? too_large(length)
                              : Refusal{411, "BadRequest", "The request has no Content-Length; send one."};
  reviews.count(kRefused);
  log_.warn("review_refused", refusal.text, {{"status", refusal.status}});
  admission.refuse({.status = refusal.status,
                    .headers = refusal.headers,
                    .body = write_status(refusal.status, refusal.reason, refusal.text)});
}

void Webhook::handle(sluice::http::Request& request, sluice::http::Reply reply) {
  if (sluice::http::send_problem_page(request, reply)) return;
  const auto begin = steady_clock::now();
  tracing::ActiveSpan span = http::start_request_span(tracer_, kRouteName, request);
  const unsigned status = answer(request, reply, span);
  http::end_request_span(span, status, {});
  duration.observe(steady_clock::now() - begin);
}

// Returns the status. Below `span` the pod's agent starts.
unsigned Webhook::answer(sluice::http::Request& request, sluice::http::Reply& reply, const tracing::ActiveSpan& span) {
  const auto refuse = [&](const Refusal& refusal) {
    reviews.count(kRefused);
    log_.warn("review_refused", refusal.text, {{"status", refusal.status}});
    reply.send({.status = refusal.status,
                .headers = refusal.headers,
                .body = write_status(refusal.status, refusal.reason, refusal.text)});
    return refusal.status;
  };
  if (const auto refusal = refuse_head(request)) return refuse(*refusal);
  json::Tree tree;
  const auto review = read_review({request.body.data(), request.body.size()}, tree);
  if (!review) {
    return refuse({.text = fmt::format("The injector cannot read this AdmissionReview: {}.", review.error().text)});
  }
  const Injection made =
      decide(*review, settings_(), span ? tracing::format_traceparent(span->context) : std::string());
  count(made);
  if (span) describe(*review, made, *span);
  if (log_.wants(telemetry::LogLevel::debug)) {
    log_.debug("review", made.skip ? made.skip->text : "The injector answered a review.",
               {{"namespace", review->namespace_},
                {"pod", review->pod != nullptr ? Pod(*review->pod).name() : std::string_view()},
                {"patched", !made.patch.empty()},
                {"dry_run", review->dry_run},
                {"warnings", made.warnings.size()}});
  }
  reply.send({.status = 200, .headers = kNoStore, .body = write_review(review->uid, made)});
  return 200;
}

void Webhook::count(const Injection& made) {
  reviews.count(static_cast<std::size_t>(made.result));
  if (made.skip) skipped.count(static_cast<std::size_t>(made.skip->reason));
}

}  // namespace sluice::server::injector
