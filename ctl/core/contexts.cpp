#include "ctl/core/contexts.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"
#include "common/json/writer.hpp"
#include "common/yaml/yaml.hpp"
#include "common/yaml/yaml_writer.hpp"
#include "ctl/core/document.hpp"

namespace sluice::ctl {
namespace {

constexpr mode_t kOwnerOnly = 0600;
constexpr mode_t kOthers = 0077;

std::string reason() { return std::generic_category().message(errno); }

Error unreadable(const std::string& path) { return {"file", fmt::format("{} cannot be read: {}", path, reason())}; }
Error unwritable(const std::string& path) { return {"file", fmt::format("{} cannot be written: {}", path, reason())}; }

Context read_context(const json::Value& entry) {
  return {.name = std::string(entry.text_of("name")),
          .server = std::string(entry.text_of("server")),
          .token = std::string(entry.text_of("token")),
          .ca = std::string(entry.text_of("ca")),
          .tenant = std::string(entry.text_of("tenant")),
          .insecure = entry.is_true("insecure_server")};
}

}  // namespace

Result<Contexts> Contexts::load(const std::string& path) {
  Contexts contexts;
  contexts.path_ = path;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return contexts;
    return std::unexpected(unreadable(path));
  }
  if ((status.st_mode & kOthers) != 0) {
    return failure("file", fmt::format("{} holds tokens, and others may read it: run `chmod 600 {}`, and consider its "
                                       "tokens known to others",
                                       path, path));
  }
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return std::unexpected(unreadable(path));
  const auto yaml = yaml::json_of_yaml(text);
  if (!yaml) {
    return failure("contexts",
                   fmt::format("{}:{}:{}: {}", path, yaml.error().line, yaml.error().column, yaml.error().text));
  }
  const auto document = Document::parse(yaml->json);
  if (!document) return failure("contexts", fmt::format("{}: {}", path, document.error().text));
  contexts.current_ = document->root().text_of("current");
  for (const json::Value& entry : document->root().items_of("contexts")) {
    Context context = read_context(entry);
    if (context.name.empty() || context.server.empty()) {
      return failure("contexts", fmt::format("{}: each context needs a `name` and a `server`", path));
    }
    contexts.put(std::move(context));
  }
  return contexts;
}

Result<> Contexts::save() const {
  json::Writer out;
  out.begin_object();
  out.field("current", current_);
  out.key("contexts");
  out.begin_list();
  for (const Context& context : contexts_) {
    out.begin_object();
    out.field("name", context.name);
    out.field("server", context.server);
    out.optional_field("token", context.token);
    out.optional_field("ca", context.ca);
    out.optional_field("tenant", context.tenant);
    if (context.insecure) out.field("insecure_server", true);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  const auto document = Document::parse(out.take());
  const std::string text = yaml::yaml_of_json(document->root());

  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  // O_EXCL: a file that another user has put there is not written to.
  const std::string temporary = fmt::format("{}.{}", path_, ::getpid());
  const FileDescriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerOnly));
  if (file.get() < 0) return std::unexpected(unwritable(temporary));
  const bool written = ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(file.get()) == 0 && ::rename(temporary.c_str(), path_.c_str()) == 0;
  if (written) return {};
  const Error failed = unwritable(path_);
  ::unlink(temporary.c_str());
  return std::unexpected(failed);
}

const Context* Contexts::find(std::string_view name) const {
  const auto found = std::ranges::find(contexts_, name, &Context::name);
  return found == contexts_.end() ? nullptr : &*found;
}

void Contexts::put(Context context) {
  const auto found = std::ranges::find(contexts_, context.name, &Context::name);
  if (found == contexts_.end()) {
    contexts_.push_back(std::move(context));
  } else {
    *found = std::move(context);
  }
}

bool Contexts::use(std::string_view name) {
  if (find(name) == nullptr) return false;
  current_ = name;
  return true;
}

bool Contexts::remove(std::string_view name) {
  if (std::erase_if(contexts_, [&](const Context& context) { return context.name == name; }) == 0) return false;
  if (current_ == name) current_.clear();
  return true;
}

std::string default_contexts_path() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string path = variable("SLUICECTL_CONFIG"); !path.empty()) return path;
  if (const std::string folder = variable("XDG_CONFIG_HOME"); !folder.empty()) return folder + "/sluice/contexts.yaml";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.config/sluice/contexts.yaml";
  return "";
}

}  // namespace sluice::ctl
