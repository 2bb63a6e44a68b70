#include "server/injector/sidecar.hpp"

#include <fmt/core.h>

#include "common/json/writer.hpp"
#include "server/injector/names.hpp"
#include "server/injector/quantity.hpp"

namespace sluice::server::injector {
namespace {

constexpr std::string_view kVariablePrefix = "SLUICE_AGENT_";
constexpr std::string_view kPodName = "POD_NAME";
// Not one of our own variables when a sidecar is updated: it names the review that made the sidecar, and stays.
constexpr std::string_view kTraceparent = "TRACEPARENT";
constexpr std::string_view kProgram = "/usr/bin/sluice-agent";  // one of two programs in the image
constexpr std::string_view kCaFile = "ca.crt";
constexpr std::string_view kCountersCaFile = "counters-ca.crt";
constexpr std::int64_t kUser = 65'532;  // uid and gid of the image
constexpr std::int64_t kTokenSeconds = 3'600;

json::Writer compact() { return json::Writer(json::Writer::Layout::compact); }

std::string identity_path(std::string_view file) { return fmt::format("{}/{}", kIdentityFolder, file); }

void write_variable(json::Writer& out, std::string_view name, std::string_view value) {
  out.begin_object();
  out.field("name", name);
  out.field("value", value);
  out.end_object();
}

void write_pod_name(json::Writer& out) {
  out.begin_object();
  out.field("name", kPodName);
  out.key("valueFrom");
  out.begin_object();
  out.key("fieldRef");
  out.begin_object();
  out.field("fieldPath", "metadata.name");
  out.end_object();
  out.end_object();
  out.end_object();
}

void write_variables(json::Writer& out, const InjectorSettings& settings, const SidecarSettings& sidecar,
                     std::string_view traceparent) {
  out.key("env");
  out.begin_list();
  write_pod_name(out);
  write_variable(out, "SLUICE_AGENT_SERVER", settings.server_url);
  write_variable(out, "SLUICE_AGENT_AGENT_TOKEN_FILE", identity_path("token"));
  if (!settings.server_ca.empty()) write_variable(out, "SLUICE_AGENT_SERVER_TLS_CA", identity_path(kCaFile));
  write_variable(out, "SLUICE_AGENT_SNAPSHOT_CACHE", fmt::format("{}/snapshot", kStateFolder));
  write_variable(out, "SLUICE_AGENT_COUNTERS", settings.counters);
  if (settings.counters != "memory") write_variable(out, "SLUICE_AGENT_REDIS_PASSWORD_FROM_SERVER", "true");
  if (!settings.counters_ca.empty()) write_variable(out, "SLUICE_AGENT_REDIS_TLS_CA", identity_path(kCountersCaFile));
  if (settings.insecure_redis) write_variable(out, "SLUICE_AGENT_INSECURE_REDIS", "true");
  write_variable(out, "SLUICE_AGENT_LISTEN_UNIX", kSocket);
  // Every user may connect, because only this pod's programs can reach the folder.
  write_variable(out, "SLUICE_AGENT_LISTEN_UNIX_MODE", "0666");
  for (const auto& [name, value] : sidecar.variables) write_variable(out, name, value);
  if (!traceparent.empty()) write_variable(out, kTraceparent, traceparent);
  out.end_list();
}

void write_resources(json::Writer& out, const SidecarSettings& sidecar) {
  out.key("resources");
  out.begin_object();
  out.key("requests");
  out.begin_object();
  out.field("cpu", cpu_text(sidecar.cpu_request_milli));
  out.field("memory", memory_text(sidecar.memory_request_bytes));
  out.end_object();
  out.key("limits");
  out.begin_object();
  if (sidecar.cpu_limit_milli != 0) out.field("cpu", cpu_text(sidecar.cpu_limit_milli));
  out.field("memory", memory_text(sidecar.memory_limit_bytes));
  out.end_object();
  out.end_object();
}

struct Probe {
  std::string_view name;
  std::string_view path;
  std::int64_t period_seconds;
  std::int64_t timeout_seconds;
  std::int64_t failures;
};

void write_probe(json::Writer& out, const Probe& probe) {
  out.key(probe.name);
  out.begin_object();
  out.key("httpGet");
  out.begin_object();
  out.field("path", probe.path);
  out.field("port", kAdminPort);
  out.end_object();
  out.field("periodSeconds", probe.period_seconds);
  out.field("timeoutSeconds", probe.timeout_seconds);
  out.field("failureThreshold", probe.failures);
  out.end_object();
}

void write_ports(json::Writer& out) {
  out.key("ports");
  out.begin_list();
  out.begin_object();
  out.field("name", kContainer);  // a PodMonitor refers to the port by this name
  out.field("containerPort", kAdminPort);
  out.field("protocol", "TCP");
  out.end_object();
  out.end_list();
}

void write_security(json::Writer& out) {
  out.key("securityContext");
  out.begin_object();
  out.field("allowPrivilegeEscalation", false);
  out.field("readOnlyRootFilesystem", true);
  out.field("runAsNonRoot", true);
  out.field("runAsUser", kUser);
  out.field("runAsGroup", kUser);
  out.key("capabilities");
  out.begin_object();
  out.key("drop");
  out.texts({"ALL"});
  out.end_object();
  out.key("seccompProfile");
  out.begin_object();
  out.field("type", "RuntimeDefault");
  out.end_object();
  out.end_object();
}

void write_mount(json::Writer& out, std::string_view volume, std::string_view path, bool read_only) {
  out.begin_object();
  out.field("name", volume);
  out.field("mountPath", path);
  if (read_only) out.field("readOnly", true);
  out.end_object();
}

std::string scratch_volume(std::string_view name, std::string_view size) {
  json::Writer out = compact();
  out.begin_object();
  out.field("name", name);
  out.key("emptyDir");
  out.begin_object();
  out.field("sizeLimit", size);
  out.end_object();
  out.end_object();
  return out.take();
}

// A volume source that shows an annotation of the pod as a file.
void write_annotation_file(json::Writer& out, std::string_view path, std::string_view annotation) {
  out.begin_object();
  out.key("downwardAPI");
  out.begin_object();
  out.key("items");
  out.begin_list();
  out.begin_object();
  out.field("path", path);
  out.key("fieldRef");
  out.begin_object();
  out.field("fieldPath", fmt::format("metadata.annotations['{}']", annotation));
  out.end_object();
  out.end_object();
  out.end_list();
  out.end_object();
  out.end_object();
}

std::string identity_volume(const InjectorSettings& settings) {
  json::Writer out = compact();
  out.begin_object();
  out.field("name", kIdentityVolume);
  out.key("projected");
  out.begin_object();
  out.key("sources");
  out.begin_list();
  out.begin_object();
  out.key("serviceAccountToken");
  out.begin_object();
  out.field("path", "token");
  out.field("audience", settings.audience);
  out.field("expirationSeconds", kTokenSeconds);
  out.end_object();
  out.end_object();
  if (!settings.server_ca.empty()) write_annotation_file(out, kCaFile, kServerCa);
  if (!settings.counters_ca.empty()) write_annotation_file(out, kCountersCaFile, kCountersCa);
  out.end_list();
  out.end_object();
  out.end_object();
  return out.take();
}

}  // namespace

bool is_own_variable(std::string_view name) { return name.starts_with(kVariablePrefix) || name == kPodName; }

std::string sidecar_container(const InjectorSettings& settings, const SidecarSettings& sidecar, bool with_resources,
                              std::string_view traceparent) {
  json::Writer out = compact();
  out.begin_object();
  out.field("name", kContainer);
  out.field("image", settings.image);
  out.key("command");
  out.begin_list();
  out.text(kProgram);
  out.end_list();
  out.field("imagePullPolicy", settings.pull_policy);
  out.field("restartPolicy", "Always");
  write_variables(out, settings, sidecar, traceparent);
  write_ports(out);
  if (with_resources) write_resources(out, sidecar);
  // On a busy node, the agent may need up to 60 s to start.
  write_probe(out, {"startupProbe", "/startupz", 1, 1, 60});
  write_probe(out, {"readinessProbe", "/readyz", 5, 2, 3});
  write_probe(out, {"livenessProbe", "/livez", 10, 3, 3});
  write_security(out);
  out.field("terminationMessagePolicy", "FallbackToLogsOnError");
  out.key("volumeMounts");
  out.begin_list();
  write_mount(out, kSocketVolume, kSocketFolder, false);
  write_mount(out, kStateVolume, kStateFolder, false);
  write_mount(out, kIdentityVolume, kIdentityFolder, true);
  out.end_list();
  out.end_object();
  return out.take();
}

std::vector<NamedJson> sidecar_volumes(const InjectorSettings& settings) {
  return {{std::string(kSocketVolume), scratch_volume(kSocketVolume, "1Mi")},
          {std::string(kStateVolume), scratch_volume(kStateVolume, "64Mi")},
          {std::string(kIdentityVolume), identity_volume(settings)}};
}

}  // namespace sluice::server::injector
