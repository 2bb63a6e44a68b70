// An index of a serialized FileDescriptorSet: which file has which name, and which symbol is in which file.
//
// Thread safety: constant once it is made.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::grpc {

class Descriptors {
 public:
  // `set` outlives the index. REQUIRES: protoc has written it.
  explicit Descriptors(std::string_view set);

  // Serialized FileDescriptorProtos: the file, and all that it imports. Empty if there is no such file, or no file with
  // such a symbol. Symbols are services, methods, messages, fields and enumerations, by their full names.
  std::vector<std::string_view> by_file(std::string_view name) const;
  std::vector<std::string_view> by_symbol(std::string_view name) const;

 private:
  struct File {
    std::string_view bytes;
    std::vector<std::string_view> imports;
  };

  void add_file(std::string_view bytes);
  void add_message(std::string_view bytes, const std::string& scope, std::string_view file);
  void add_named(std::string_view bytes, const std::string& scope, std::string_view file, bool with_methods);

  std::map<std::string_view, File> files_;
  std::map<std::string, std::string_view, std::less<>> symbols_;  // to the name of a file
};

// Those of api/ and of common/grpc/proto.
const Descriptors& own_descriptors();

}  // namespace sluice::grpc
