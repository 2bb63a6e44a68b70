#include "server/injector/container_patch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/json/pointer.hpp"
#include "common/json/writer.hpp"
#include "server/injector/names.hpp"

namespace sluice::server::injector {
namespace {

// Folders above /var/run/sluice (/var/run is often a link to /run). If one of them is mounted read-only, the container
// runtime cannot create the mount point.
constexpr std::array<std::string_view, 4> kParentFolders{"/var", "/var/run", "/run", "/"};

std::string_view without_slash(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// What a container has mounted at kSocketFolder. `taken`: a volume that is not the agent's. `unreachable`: no mount is
// possible, because a folder above is mounted read-only.
enum class Folder : std::uint8_t { missing, mounted, taken, unreachable };

Folder find_folder(const json::Value& container) {
  Folder found = Folder::missing;
  for (const json::Value& mount : container.items_of("volumeMounts")) {
    const std::string_view path = without_slash(mount.text_of("mountPath"));
    if (path == kSocketFolder) {
      return mount.text_of("name") == kSocketVolume ? Folder::mounted : Folder::taken;
    }
    if (mount.is_true("readOnly") && std::ranges::find(kParentFolders, path) != kParentFolders.end())
      found = Folder::unreachable;
  }
  return found;
}

std::string variable(std::string_view name, std::string_view value) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("name", name);
  out.field("value", value);
  out.end_object();
  return out.take();
}

// A read-only mount suffices to connect, and keeps the pod's programs from replacing the socket.
std::string socket_mount() {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("name", kSocketVolume);
  out.field("mountPath", kSocketFolder);
  out.field("readOnly", true);
  out.end_object();
  return out.take();
}

void add_variables(json::Patch& patch, std::string_view at, const json::Value& container, bool with_socket) {
  const std::string pointer = json::pointer_to(at, "env");
  const auto existing = container.items_of("env");
  std::vector<std::string> missing;  // in reverse order, because each is inserted at the front
  if (with_socket && !find_item(existing, "name", "SLUICE_SOCKET"))
    missing.push_back(variable("SLUICE_SOCKET", kSocket));
  if (!find_item(existing, "name", "SLUICE_URL")) missing.push_back(variable("SLUICE_URL", kUrl));
  bool has_list = member(container, "env") != nullptr;
  for (const std::string& one : missing) {
    if (has_list) {
      patch.add(json::pointer_to(pointer, std::size_t{0}), one);
    } else {
      patch.add(pointer, '[' + one + ']');
      has_list = true;
    }
  }
}

}  // namespace

void patch_container(json::Patch& patch, std::string_view at, const json::Value& container,
                     std::vector<std::string>& warnings) {
  const Folder folder = find_folder(container);
  if (folder == Folder::missing) {
    const bool has_list = member(container, "volumeMounts") != nullptr;
    const std::string pointer = json::pointer_to(at, "volumeMounts");
    if (has_list)
      patch.add(json::pointer_to(pointer, "-"), socket_mount());
    else
      patch.add(pointer, '[' + socket_mount() + ']');
  } else if (folder != Folder::mounted) {
    warnings.push_back(fmt::format("container {} {}: it gets no socket of the agent and must use {}",
                                   quoted(container.text_of("name")),
                                   folder == Folder::taken ? "has something else at /var/run/sluice"
                                                           : "mounts a folder above /var/run/sluice read-only",
                                   kUrl));
  }
  add_variables(patch, at, container, folder == Folder::missing || folder == Folder::mounted);
}

void patch_containers(json::Patch& patch, const Pod& pod, std::vector<std::string>& warnings) {
  const auto sidecar = pod.sidecar();
  const auto init_containers = pod.init_containers();
  for (std::size_t i = sidecar ? *sidecar + 1 : 0; i < init_containers.size(); ++i) {
    patch_container(patch, json::pointer_to("/spec/initContainers", i), init_containers[i], warnings);
  }
  const auto containers = pod.containers();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    patch_container(patch, json::pointer_to("/spec/containers", i), containers[i], warnings);
  }
}

}  // namespace sluice::server::injector
