#include "ctl/core/changes.hpp"

#include "common/json/edit.hpp"
#include "common/json/pointer.hpp"
#include "common/yaml/yaml_writer.hpp"
#include "ctl/core/output.hpp"

namespace sluice::ctl {
namespace {

void add_line(std::string& out, char sign, const std::string& pointer, const json::Value& value) {
  std::string text;
  json::append(text, value);
  out.append("    ")
      .append(1, sign)
      .append(" ")
      .append(printable(pointer))
      .append(" ")
      .append(printable(text))
      .append("\n");
}

void describe_member(std::string& out, const std::string& pointer, const json::Value* before,
                     const json::Value& patch) {
  const bool known = before != nullptr && before->type() != json::Type::null;
  if (patch.type() == json::Type::object && (!known || before->type() == json::Type::object)) {
    for (const json::Member& member : patch.members()) {
      describe_member(out, json::pointer_to(pointer, member.name), known ? before->find(member.name) : nullptr,
                      member.value);
    }
    return;
  }
  if (known) add_line(out, '-', pointer, *before);
  if (patch.type() != json::Type::null) add_line(out, '+', pointer, patch);
}

}  // namespace

std::string describe_patch(const json::Value& before, const json::Value& patch) {
  std::string out;
  for (const json::Member& member : patch.members()) {
    describe_member(out, json::pointer_to("", member.name), before.find(member.name), member.value);
  }
  return out;
}

std::string describe_object(const json::Value& object, char sign) {
  std::string out;
  const std::string yaml = yaml::yaml_of_json(object);
  for (std::size_t begin = 0; begin < yaml.size();) {
    const std::size_t end = yaml.find('\n', begin);
    out.append("    ").append(1, sign).append(" ").append(yaml, begin, end - begin).append("\n");
    begin = end == std::string::npos ? yaml.size() : end + 1;
  }
  return out;
}

}  // namespace sluice::ctl
