#include "agent/check_config.hpp"

#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "agent/rls/rate_limit_folder.hpp"
#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "common/http/client_authorities.hpp"
#include "common/http/tls.hpp"
#include "engine/policies/bundle_file.hpp"

namespace sluice::agent {
namespace {

// Prints as compilers do: "FILE:3:12: /policies/0/scope: must …".
void print_faults(const std::string& file, std::string_view kind, const Faults& faults) {
  for (const Fault& fault : faults) {
    const std::string position = fault.line == 0 ? "" : fmt::format(":{}:{}", fault.line, fault.column);
    fmt::print(stderr, "{}{}: {}{}{}{}\n", file, position, kind, fault.pointer, fault.pointer.empty() ? "" : ": ",
               fault.text);
  }
}

bool check_rate_limits(const std::string& folder) {
  const auto state = rls::look_at_folder(folder);
  if (!state) {
    print_faults(folder, "", {state.error()});
    return false;
  }
  const auto read = rls::load_rate_limits(folder, *state);
  if (!read) {
    for (const rls_config::FileFaults& each : read.error()) print_faults(each.file, "", each.faults);
    return false;
  }
  for (const rls_config::FileFaults& each : read->notes) print_faults(each.file, "warning: ", each.faults);
  fmt::print("{}: ok ({} domains, {} limits)\n", folder, read->config->domains.size(), read->config->rules);
  return true;
}

bool refuse_bundle(const std::string& file, const Faults& faults) {
  print_faults(file, "", faults);
  fmt::print(stderr, "{}: {} fault{}\n", file, faults.size(), faults.size() == 1 ? "" : "s");
  return false;
}

bool check_bundle(const Config& config) {
  const std::string& file = config.policies_file;
  auto loaded = policies::load_bundle_file(file, SystemClock().now_us(), config.mode);
  if (!loaded) return refuse_bundle(file, loaded.error());
  print_faults(file, "warning: ", loaded->warnings);
  // A running agent takes such a file, as before, but the server does not.
  if (!loaded->shared_names.empty()) return refuse_bundle(file, loaded->shared_names);
  const policy::Snapshot& snapshot = *loaded->snapshot;
  fmt::print("{}: ok ({} tenants, {} plans, {} policies, {} keys, {} overridden counters)\n", file,
             snapshot.tenants.size(), snapshot.plan_count, snapshot.policy_count, snapshot.keys.size(),
             snapshot.overrides.size());
  return true;
}

// Prints why a file of TLS cannot be used. Returns whether it can.
template <class Loaded>
bool check_tls_file(const std::string& flags, const Result<Loaded>& loaded) {
  if (!loaded) fmt::print(stderr, "{}: {}\n", flags, loaded.error().text);
  return loaded.has_value();
}

bool check_tls(const Config& config) {
  if (config.certificate.chain.empty()) return true;
  const bool pair_is_good = check_tls_file("--tls-cert, --tls-key", http::Certificates::load(config.certificate));
  if (config.client_ca.empty()) return pair_is_good;
  return check_tls_file("--tls-client-ca", http::ClientAuthorities::load(config.client_ca)) && pair_is_good;
}

}  // namespace

int check_config(const Config& config) {
  const bool tls_is_good = check_tls(config);
  const bool bundle_is_good = config.policies_file.empty() || check_bundle(config);
  const bool limits_are_good = config.ratelimit_folder.empty() || check_rate_limits(config.ratelimit_folder);
  const bool is_good = tls_is_good && bundle_is_good && limits_are_good;
  if (is_good && config.server) fmt::print("the flags are good; the server has the policies\n");
  return is_good ? 0 : 1;
}

}  // namespace sluice::agent
