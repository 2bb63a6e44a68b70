#include "server/oidc/metrics.hpp"

namespace sluice::server::oidc {

const telemetry::MetricTable<SignInService::Statistics>& metrics() {
  using Counted = SignInService::Statistics;
  static const telemetry::MetricTable<Counted> table{
      {"sluice_oidc_sign_ins_total",
       telemetry::kCounter,
       "Sign-ins to the console by OpenID Connect that came back from the provider. refused: the provider's answer was "
       "not accepted, or no group of the person has a mapping. failed: the provider or PostgreSQL gave no usable "
       "answer; a sign-in that could not begin counts too.",
       "result",
       {{"ok", &Counted::signed_in}, {"refused", &Counted::refused}, {"failed", &Counted::failed}}},
  };
  return table;
}

}  // namespace sluice::server::oidc
