// Files of a bundle, `sluice/v1`, in JSON or YAML: read, joined into one bundle, and faults of it traced to their file.
//
// Thread safety: none.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/yaml/yaml.hpp"
#include "ctl/core/document.hpp"

namespace sluice::ctl {

class BundleFiles {
 public:
  // Paths of files, of folders (their *.json, *.yaml and *.yml, in the order of their names), or "-" for stdin.
  // `recursive`: also the files of the folders' folders.
  // Errors: `file`, or `syntax` with "FILE:LINE:COLUMN: …".
  static Result<BundleFiles> read(const std::vector<std::string>& paths, bool recursive = false);

  // One bundle: the lists of all files, one after the other. Error: `bundle`, if files disagree, or are no bundles.
  Result<std::string> joined();

  // "FILE:LINE:COLUMN: POINTER: TEXT" for a fault that the server found in the joined bundle. REQUIRES: joined().
  std::string describe(std::string_view pointer, std::string_view text) const;

  // The objects of a list, of all files. They point into this object.
  std::vector<json::Value> objects(std::string_view list) const;
  // The object of a list that a change names, nullptr if no file has it. A file may leave `tenant_id` out.
  const json::Value* find(std::string_view list, std::string_view tenant, std::string_view id) const;

 private:
  struct File {
    std::string name;
    std::string json;
    yaml::YamlDocument yaml;  // with its positions; unused if the file is JSON
    bool is_yaml = false;
    Document document;
  };
  struct Place {
    std::size_t file;
    std::size_t index;  // in the list of that file
  };

  Result<> add(const std::string& path);
  Result<> add_text(const std::string& name, std::string text);

  std::vector<File> files_;
  std::map<std::string, std::vector<Place>, std::less<>> lists_;  // list -> where each of its items comes from
};

}  // namespace sluice::ctl
