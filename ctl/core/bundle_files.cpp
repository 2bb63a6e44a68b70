#include "ctl/core/bundle_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fault_place.hpp"
#include "ctl/core/text_file.hpp"

namespace sluice::ctl {
namespace {

namespace fs = std::filesystem;

bool is_bundle_file(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".json" || extension == ".yaml" || extension == ".yml";
}

// Without an extension that says it: JSON begins with a bracket.
bool looks_like_yaml(const std::string& name, std::string_view text) {
  const std::string extension = fs::path(name).extension().string();
  if (extension == ".json") return false;
  if (extension == ".yaml" || extension == ".yml") return true;
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos || text[begin] != '{';
}

// Those in hidden folders, such as .git, are left out. Others are never left out in silence, because --prune deletes
// what no file names. Error: `file`.
Result<std::vector<std::string>> files_in(const std::string& folder, bool recursive) {
  std::vector<std::string> found;
  std::error_code error;
  std::error_code ignored;  // of a link that leads nowhere: whoever opens it finds out
  for (auto at = fs::recursive_directory_iterator(folder, error); at != fs::recursive_directory_iterator();
       at.increment(error)) {
    if (at->is_directory(ignored)) {
      if (!recursive || at->path().filename().string().starts_with('.')) at.disable_recursion_pending();
    } else if (is_bundle_file(at->path()) && !at->is_other(ignored)) {
      found.push_back(at->path().string());
    }
  }
  if (error) return failure("file", fmt::format("{} cannot be read: {}", sluice::quoted(folder), error.message()));
  if (found.empty()) return failure("file", fmt::format("{} has no *.json, *.yaml or *.yml", sluice::quoted(folder)));
  std::ranges::sort(found);
  return found;
}

std::string place(const std::string& file, const Fault& fault) {
  if (fault.line == 0) return file;
  return fmt::format("{}:{}:{}", file, fault.line, fault.column);
}

}  // namespace

Result<BundleFiles> BundleFiles::read(const std::vector<std::string>& paths, bool recursive) {
  BundleFiles files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      if (Result<> added = files.add(path); !added) return std::unexpected(added.error());
      continue;
    }
    const auto inside = files_in(path, recursive);
    if (!inside) return std::unexpected(inside.error());
    for (const std::string& file : *inside) {
      if (Result<> added = files.add(file); !added) return std::unexpected(added.error());
    }
  }
  return files;
}

Result<> BundleFiles::add(const std::string& path) {
  auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return add_text(path == "-" ? "stdin" : path, std::move(*text));
}

Result<> BundleFiles::add_text(const std::string& name, std::string text) {
  File file;
  file.name = name;
  file.is_yaml = looks_like_yaml(name, text);
  if (file.is_yaml) {
    auto yaml = yaml::json_of_yaml(text);
    if (!yaml) return failure("syntax", fmt::format("{}: {}", place(name, yaml.error()), yaml.error().text));
    file.yaml = std::move(*yaml);
    file.json = file.yaml.json;
  } else {
    file.json = std::move(text);
  }
  auto document = Document::parse(file.json);
  if (!document) return failure("syntax", fmt::format("{}: {}", place(name, document.error()), document.error().text));
  if (document->root().type() != json::Type::object) {
    return failure("bundle", fmt::format("{} is no bundle: it must be an object with `format: sluice/v1`", name));
  }
  file.document = std::move(*document);
  files_.push_back(std::move(file));
  return {};
}

Result<std::string> BundleFiles::joined() {
  lists_.clear();
  std::map<std::string, std::string, std::less<>> settings;  // members that are no lists, as JSON
  std::map<std::string, std::string, std::less<>> lists;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const json::Member& member : files_[i].document.root().members()) {
      if (member.duplicate) {
        return failure("bundle", fmt::format("{} has {} twice", files_[i].name, sluice::quoted(member.name)));
      }
      std::string value;
      if (member.value.type() != json::Type::array) {
        json::append(value, member.value);
        const auto [known, is_new] = settings.emplace(member.name, value);
        if (is_new || known->second == value) continue;
        return failure("bundle", fmt::format("{} has {} {}, and an earlier file {}: they are applied as one bundle",
                                             files_[i].name, sluice::quoted(member.name), value, known->second));
      }
      std::string& list = lists[std::string(member.name)];
      std::vector<Place>& places = lists_[std::string(member.name)];
      for (std::size_t index = 0; index < member.value.items().size(); ++index) {
        if (!list.empty()) list.push_back(',');
        json::append(list, member.value.items()[index]);
        places.push_back({i, index});
      }
    }
  }
  std::string bundle = "{";
  bool first = true;
  for (const auto& [name, value] : settings) {
    json::append_member(bundle, name, first);
    bundle.append(value);
  }
  for (const auto& [name, items] : lists) {
    json::append_member(bundle, name, first);
    bundle.append("[").append(items).append("]");
  }
  return bundle + "}";
}

std::string BundleFiles::describe(std::string_view pointer, std::string_view text) const {
  // "/LIST/INDEX/…", with the index in the joined list.
  std::size_t file = 0;
  std::string local(pointer);
  const std::size_t second = pointer.find('/', 1);
  if (pointer.starts_with('/') && second != std::string_view::npos) {
    const auto list = lists_.find(pointer.substr(1, second - 1));
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(pointer.data() + second + 1, pointer.data() + pointer.size(), index);
    if (error == std::errc() && list != lists_.end() && index < list->second.size()) {
      file = list->second[index].file;
      local = fmt::format("{}/{}{}", pointer.substr(0, second), list->second[index].index,
                          std::string_view(end, pointer.data() + pointer.size()));
    }
  }
  Faults faults{{.pointer = local, .text = std::string(text)}};
  if (files_[file].is_yaml) {
    files_[file].yaml.locate(faults);
  } else {
    json::locate_faults(files_[file].json, faults);
  }
  return fmt::format("{}: {}: {}", place(files_[file].name, faults.front()), local.empty() ? "the bundle" : local,
                     text);
}

std::vector<json::Value> BundleFiles::objects(std::string_view list) const {
  std::vector<json::Value> found;
  for (const File& file : files_) {
    const auto items = file.document.root().items_of(list);
    found.insert(found.end(), items.begin(), items.end());
  }
  return found;
}

const json::Value* BundleFiles::find(std::string_view list, std::string_view tenant, std::string_view id) const {
  for (const File& file : files_) {
    for (const json::Value& item : file.document.root().items_of(list)) {
      const std::string_view of = item.text_of("tenant_id");
      if (item.text_of("id") == id && (tenant.empty() || of.empty() || of == tenant)) return &item;
    }
  }
  return nullptr;
}

}  // namespace sluice::ctl
