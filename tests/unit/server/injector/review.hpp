// AdmissionReviews as the API server sends them.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::injector {

struct Review {
  std::string_view version = "admission.k8s.io/v1";
  std::string_view kind = "AdmissionReview";
  std::string_view uid = R"("705ab4f5-6393-11e8-b7cc-42010a800002")";
  std::string_view pod_kind = R"({"group":"","version":"v1","kind":"Pod"})";
  std::string_view operation = R"("CREATE")";
  std::string_view namespace_ = R"("shop")";
  std::string more = {};    // further members of the request, each with a comma in front
  std::string object = {};  // "": none

  std::string text() const {
    std::string out = R"({"kind":")" + std::string(kind) + R"(","apiVersion":")" + std::string(version);
    out += R"(","request":{"uid":)" + std::string(uid) + R"(,"kind":)" + std::string(pod_kind);
    out += R"(,"resource":{"group":"","version":"v1","resource":"pods"},"operation":)" + std::string(operation);
    out += R"(,"namespace":)" + std::string(namespace_) + R"(,"options":{"kind":"CreateOptions"})" + more;
    if (!object.empty()) out += R"(,"object":)" + object;
    return out + "}}";
  }
};

}  // namespace sluice::server::injector
