#include "common/grpc/descriptors.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <protozero/pbf_reader.hpp>

#include "common/grpc/descriptor_set_bytes.hpp"

namespace sluice::grpc {
namespace {

// Calls visit(tag, bytes) for each field of a message that has a length.
template <class Visit>
void each_field(std::string_view message, Visit visit) {
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    const std::uint32_t tag = reader.tag();
    const auto view = reader.get_view();
    visit(tag, std::string_view(view.data(), view.size()));
  }
}

std::string_view field(std::string_view message, std::uint32_t wanted) {
  std::string_view found;
  each_field(message, [&](std::uint32_t tag, std::string_view bytes) {
    if (tag == wanted) found = bytes;
  });
  return found;
}

std::string join(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : scope + "." + std::string(name);
}

}  // namespace

Descriptors::Descriptors(std::string_view set) {
  each_field(set, [this](std::uint32_t, std::string_view file) { add_file(file); });
}

// The numbers are those of FileDescriptorProto.
void Descriptors::add_file(std::string_view bytes) {
  const std::string_view name = field(bytes, 1);
  const std::string package(field(bytes, 2));
  File& file = files_[name];
  file.bytes = bytes;
  each_field(bytes, [&](std::uint32_t tag, std::string_view part) {
    if (tag == 3) file.imports.push_back(part);
    if (tag == 4) add_message(part, package, name);
    if (tag == 5) add_named(part, package, name, false);
    if (tag == 6) add_named(part, package, name, true);
  });
}

// The numbers are those of DescriptorProto.
void Descriptors::add_message(std::string_view bytes, const std::string& scope, std::string_view file) {
  const std::string own = join(scope, field(bytes, 1));
  symbols_.emplace(own, file);
  each_field(bytes, [&](std::uint32_t tag, std::string_view part) {
    if (tag == 2) symbols_.emplace(join(own, field(part, 1)), file);
    if (tag == 3) add_message(part, own, file);
    if (tag == 4) add_named(part, own, file, false);
  });
}

// An enumeration, or a service with its methods.
void Descriptors::add_named(std::string_view bytes, const std::string& scope, std::string_view file,
                            bool with_methods) {
  const std::string own = join(scope, field(bytes, 1));
  symbols_.emplace(own, file);
  if (!with_methods) return;
  each_field(bytes, [&](std::uint32_t tag, std::string_view part) {
    if (tag == 2) symbols_.emplace(join(own, field(part, 1)), file);
  });
}

std::vector<std::string_view> Descriptors::by_file(std::string_view name) const {
  std::vector<std::string_view> names{name};
  std::vector<std::string_view> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto file = files_.find(names[i]);
    if (file == files_.end()) continue;
    found.push_back(file->second.bytes);
    for (const std::string_view import : file->second.imports) {
      if (std::ranges::find(names, import) == names.end()) names.push_back(import);
    }
  }
  return found;
}

std::vector<std::string_view> Descriptors::by_symbol(std::string_view name) const {
  const auto symbol = symbols_.find(name);
  return symbol == symbols_.end() ? std::vector<std::string_view>() : by_file(symbol->second);
}

const Descriptors& own_descriptors() {
  static const Descriptors descriptors(std::string_view(reinterpret_cast<const char*>(kBytes), sizeof kBytes));
  return descriptors;
}

}  // namespace sluice::grpc
