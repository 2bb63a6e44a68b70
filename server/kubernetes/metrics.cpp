#include "server/kubernetes/metrics.hpp"

#include <cstdint>
#include <optional>

#include "common/program/certificate.hpp"

namespace sluice::server::kubernetes {

using telemetry::kCounter;
using telemetry::kGauge;

const telemetry::MetricTable<CertificateKeeper>& metrics() {
  static const telemetry::MetricTable<CertificateKeeper> table{
      {program::kCertificateExpiry,
       kGauge,
       program::kCertificateExpiryHelp,
       "certificate",
       {{"serving", [](const CertificateKeeper& keeper) { return program::expiry(*keeper.certificates()); }},
        {"ca",
         [](const CertificateKeeper& keeper) -> std::optional<double> {
           const std::int64_t end = keeper.statistics().ca_not_after;
           return end == 0 ? std::nullopt : std::optional(static_cast<double>(end));
         }}},
       "with TLS; `ca` only with `--tls-self-managed`"},
      {"sluice_tls_rotations_total", kCounter, "Certificates that the server put in force after the first one.",
       [](const CertificateKeeper& keeper) { return keeper.statistics().rotations.load(); }},
      {"sluice_tls_check_errors_total", kCounter,
       "Failed checks of the certificate's Secret and of the webhooks that trust its CA. The server repeats them.",
       [](const CertificateKeeper& keeper) { return keeper.statistics().failures.load(); }},
  };
  return table;
}

}  // namespace sluice::server::kubernetes
