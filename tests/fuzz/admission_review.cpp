// Any bytes as an AdmissionReview: no crash; what is refused says why; what is accepted is answered in JSON under its
// uid, with a patch that applies, and of the pod as the patch leaves it nothing more is wanted.
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "common/base/crypto.hpp"
#include "server/injector/admission_response.hpp"
#include "server/injector/admission_review.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/unit/server/injector/document.hpp"

namespace {

using namespace sluice;
using namespace sluice::server::injector;

const InjectorSettings& settings() {
  static const InjectorSettings kSettings{.version = "1",
                                          .image = "sluice:1",
                                          .server_url = "https://sluice-server.sluice-system.svc:8080",
                                          .server_ca = "PEM",
                                          .counters = "redis://redis:6379/0",
                                          .counters_ca = {},
                                          .sidecar = {}};
  return kSettings;
}

void require_readable(const Error& error) {
  REQUIRE_THAT(!error.code.empty() && !error.text.empty() && error.text.size() < 1'024);
  const Node status = parse_node(write_status(400, "BadRequest", error.text));
  REQUIRE_THAT(!status.at("/message").text.empty());
}

// Names of members may stand several times in what an API server never sends; what they mean then is open.
bool has_duplicates(const json::Value& value) {
  if (value.type() == json::Type::array) {
    for (const json::Value& item : value.items()) {
      if (has_duplicates(item)) return true;
    }
  }
  if (value.type() != json::Type::object) return false;
  for (const json::Member& part : value.members()) {
    if (part.duplicate || has_duplicates(part.value)) return true;
  }
  return false;
}

void require_idempotent(const AdmissionRequest& request, const Injection& made) {
  if (has_duplicates(*request.pod)) return;
  const std::string after = text_of(patched(node_of(*request.pod), made.patch));
  json::Tree tree;
  const auto pod = tree.parse(after);
  REQUIRE_THAT(pod.has_value());
  const Injection again = inject(*pod, request.namespace_, settings());
  REQUIRE_THAT(again.patch.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  json::Tree tree;
  const auto review = read_review(body, tree);
  if (!review) {
    require_readable(review.error());
    return 0;
  }
  const Injection made = decide(*review, settings());
  const Node answer = parse_node(write_review(review->uid, made));
  REQUIRE_THAT(answer.at("/response/uid").text == review->uid);
  REQUIRE_THAT(answer.at("/response/allowed").text == "true");
  REQUIRE_THAT((answer.at("/response").find("patch") != nullptr) == !made.patch.empty());
  if (review->pod != nullptr) require_idempotent(*review, made);
  return 0;
}
