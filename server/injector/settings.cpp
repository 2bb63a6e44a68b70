#include "server/injector/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "common/base/duration.hpp"
#include "common/base/text.hpp"
#include "common/http_client/url.hpp"
#include "common/json/fields.hpp"
#include "common/line_sinks/destination.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/log.hpp"
#include "server/injector/quantity.hpp"

namespace sluice::server::injector {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMaxCpuMilli = 64'000;
constexpr std::int64_t kMinMemory = 8LL << 20;
constexpr std::int64_t kMaxMemory = 64LL << 30;

bool is_log_level(std::string_view value) { return telemetry::parse_log_level(value).has_value(); }
bool is_log_format(std::string_view value) { return telemetry::parse_log_format(value, STDERR_FILENO).has_value(); }
bool is_decision_log(std::string_view value) { return telemetry::parse_decision_log_mode(value).has_value(); }

// The container has no socket of syslog, and its only folder is too small for files of a log.
bool is_log_destination(std::string_view value) {
  const auto read = line_sinks::parse_destination(value);
  if (!read) return false;
  const auto* const datagrams = std::get_if<line_sinks::SyslogOptions>(&*read);
  return std::holds_alternative<line_sinks::Descriptor>(*read) ||
         std::holds_alternative<line_sinks::SyslogStreamOptions>(*read) ||
         (datagrams != nullptr && datagrams->socket.empty());
}
bool is_deny_or_allow(std::string_view value) { return value == "deny" || value == "allow"; }
bool is_boolean(std::string_view value) { return value == "true" || value == "false"; }

constexpr auto kHeaderFamilies = std::to_array<std::string_view>({"x", "ietf", "ietf-next", "draft6", "retry-after"});

// What the agent takes: the two IETF families write the same headers, so only one of them may be there.
bool is_header_list(std::string_view value) {
  if (value == "none") return true;
  bool ietf = false;
  bool ietf_next = false;
  for (bool more = true; more;) {
    const std::size_t comma = value.find(',');
    const std::string_view family = value.substr(0, comma);
    if (std::ranges::find(kHeaderFamilies, family) == kHeaderFamilies.end()) return false;
    ietf |= family == "ietf";
    ietf_next |= family == "ietf-next";
    more = comma != std::string_view::npos;
    if (more) value.remove_prefix(comma + 1);
  }
  return !(ietf && ietf_next);
}

template <std::uint64_t kLeast, std::uint64_t kMost>
bool is_number(std::string_view value) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && end == value.data() + value.size() && number >= kLeast && number <= kMost;
}

template <std::int64_t kLeastMs, std::int64_t kMostMs>
bool is_duration(std::string_view value) {
  const auto read = parse_duration(value);
  return read && *read >= std::chrono::milliseconds(kLeastMs) && *read <= std::chrono::milliseconds(kMostMs) &&
         *read % 1ms == 0us;
}

bool is_age(std::string_view value) {
  return is_duration<0, 0>(value) || is_duration<1'000, 8'760LL * 3'600'000>(value);
}

bool is_cpu(std::string_view value) {
  const auto milli = parse_cpu(value);
  return milli && *milli <= kMaxCpuMilli;
}

bool is_memory(std::string_view value) {
  const auto bytes = parse_memory(value);
  return bytes && *bytes >= kMinMemory && *bytes <= kMaxMemory;
}

bool is_collector(std::string_view value) {
  const auto url = http_client::parse_url(value);
  return url && url->transport != http_client::Url::Transport::unix_socket;
}

bool is_share(std::string_view value) {
  double share = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), share);
  return error == std::errc{} && end == value.data() + value.size() && share >= 0 && share <= 1;
}

constexpr std::string_view kCpuRule = "must be an amount of CPU from 1m to 64, such as 10m or 0.5";
constexpr std::string_view kMemoryRule = "must be an amount of memory from 8Mi to 64Gi, such as 64Mi";

// The ranges are those of the agent's flags with these names.
constexpr std::array kPodSettings{
    PodSetting{"cpu-request", "", is_cpu, kCpuRule},
    PodSetting{"cpu-limit", "", is_cpu, kCpuRule},
    PodSetting{"memory-request", "", is_memory, kMemoryRule},
    PodSetting{"memory-limit", "", is_memory, kMemoryRule},
    PodSetting{"log-level", "SLUICE_AGENT_LOG_LEVEL", is_log_level, "must be debug, info, warn or error"},
    PodSetting{"log-format", "SLUICE_AGENT_LOG_FORMAT", is_log_format, "must be auto, json or text"},
    PodSetting{"decision-log", "SLUICE_AGENT_DECISION_LOG", is_decision_log, telemetry::kDecisionLogRule},
    PodSetting{"decision-log-to", "SLUICE_AGENT_DECISION_LOG_TO", is_log_destination,
               "must be stdout, stderr, syslog:udp://HOST:PORT or syslog:tcp://HOST:PORT, such as "
               "syslog:tcp://logs.example.com:601; the container has no folder and no socket for a log"},
    PodSetting{"headers", "SLUICE_AGENT_HEADERS", is_header_list,
               "must be a list of x, one of ietf and ietf-next, draft6 and retry-after, such as x,ietf; or none"},
    PodSetting{"workers", "SLUICE_AGENT_WORKERS", is_number<1, 256>, "must be a whole number from 1 to 256"},
    PodSetting{"max-in-flight", "SLUICE_AGENT_MAX_IN_FLIGHT", is_number<1, 1'000'000>,
               "must be a whole number from 1 to 1000000"},
    PodSetting{"max-wait", "SLUICE_AGENT_MAX_WAIT", is_duration<0, 600'000>,
               "must be a duration from 0s to 10m, such as 30s"},
    PodSetting{"max-waiting", "SLUICE_AGENT_MAX_WAITING", is_number<0, 100'000>,
               "must be a whole number from 0 to 100000"},
    PodSetting{"redis-deadline", "SLUICE_AGENT_REDIS_DEADLINE", is_duration<1, 10'000>,
               "must be a duration from 1ms to 10s, such as 25ms"},
    PodSetting{"drain-timeout", "SLUICE_AGENT_DRAIN_TIMEOUT", is_duration<0, 600'000>,
               "must be a duration from 0s to 10m, such as 20s"},
    PodSetting{"startup-wait", "SLUICE_AGENT_STARTUP_WAIT", is_duration<0, 600'000>,
               "must be a duration from 0s to 10m, such as 3s"},
    PodSetting{"no-snapshot", "SLUICE_AGENT_NO_SNAPSHOT", is_deny_or_allow, "must be deny or allow"},
    PodSetting{"max-snapshot-age", "SLUICE_AGENT_MAX_SNAPSHOT_AGE", is_age,
               "must be a duration from 1s to 8760h, or 0s for no limit"},
    PodSetting{"otlp-endpoint", "SLUICE_AGENT_OTLP_ENDPOINT", is_collector,
               "must be the URL of a collector, http://HOST[:PORT] or https://HOST[:PORT]"},
    PodSetting{"trace-sample", "SLUICE_AGENT_TRACE_SAMPLE", is_share, "must be a number from 0 to 1, such as 0.01"},
    PodSetting{"metrics-policy-label", "SLUICE_AGENT_METRICS_POLICY_LABEL", is_boolean, "must be true or false"},
    PodSetting{"metrics-aliases", "SLUICE_AGENT_METRICS_ALIASES", is_boolean, "must be true or false"},
};

std::int64_t* amount(SidecarSettings& settings, std::string_view name) {
  if (name == "cpu-request") return &settings.cpu_request_milli;
  if (name == "cpu-limit") return &settings.cpu_limit_milli;
  if (name == "memory-request") return &settings.memory_request_bytes;
  if (name == "memory-limit") return &settings.memory_limit_bytes;
  return nullptr;
}

std::string unknown_text(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PodSetting& known : kPodSettings) names.push_back(known.name);
  const std::string_view hint = sluice::nearest(name, names);
  if (!hint.empty()) return fmt::format("is not a setting; did you mean {}?", hint);
  return fmt::format("is not a setting; there are {}", fmt::join(names, ", "));
}

}  // namespace

std::span<const PodSetting> pod_settings() { return kPodSettings; }

Result<> set_pod_setting(SidecarSettings& settings, std::string_view name, std::string_view value) {
  const auto found = std::ranges::find(kPodSettings, name, &PodSetting::name);
  if (found == kPodSettings.end()) return failure("unknown", unknown_text(name));
  if (!found->is_valid(value)) return failure("value", std::string(found->rule));
  if (std::int64_t* const number = amount(settings, name)) {
    *number = *(name.starts_with("cpu") ? parse_cpu(value) : parse_memory(value));
  } else {
    settings.variables.insert_or_assign(std::string(found->variable), std::string(value));
  }
  return {};
}

std::string contradiction(const SidecarSettings& settings) {
  if (settings.memory_request_bytes > settings.memory_limit_bytes) {
    return fmt::format("memory-request {} is more than memory-limit {}", memory_text(settings.memory_request_bytes),
                       memory_text(settings.memory_limit_bytes));
  }
  if (settings.cpu_limit_milli != 0 && settings.cpu_request_milli > settings.cpu_limit_milli) {
    return fmt::format("cpu-request {} is more than cpu-limit {}", cpu_text(settings.cpu_request_milli),
                       cpu_text(settings.cpu_limit_milli));
  }
  return {};
}

}  // namespace sluice::server::injector
