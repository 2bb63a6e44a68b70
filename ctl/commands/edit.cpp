// edit: an object as YAML in the user's editor.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/yaml/yaml.hpp"
#include "common/yaml/yaml_writer.hpp"
#include "ctl/commands/commands.hpp"

namespace sluice::ctl {
namespace {

namespace fs = std::filesystem;

struct ObjectOptions {
  std::string kind;
  std::vector<std::string> ids;
};

constexpr std::string_view kMadeByServer[] = {"version", "revision", "created_at", "updated_at", "warnings"};
constexpr unsigned kPreconditionFailed = 412;

// A file in the temporary folder that only its owner reads, and that goes with this object unless it is kept.
class EditedFile {
 public:
  static Result<EditedFile> make(const std::string& text) {
    std::string path = (fs::temp_directory_path() / "sluicectl-XXXXXX.yaml").string();
    const FileDescriptor file(::mkostemps(path.data(), 5, O_CLOEXEC));
    EditedFile edited(path);
    if (!file)
      return failure("file", fmt::format("no temporary file can be made in {}", fs::temp_directory_path().string()));
    if (!edited.write(text)) return failure("file", fmt::format("{} cannot be written", path));
    return edited;
  }
  EditedFile(EditedFile&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~EditedFile() {
    std::error_code ignored;
    if (!path_.empty() && !kept_) fs::remove(path_, ignored);
  }

  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }
  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool write(const std::string& text) const {
    std::ofstream file(path_, std::ios::binary | std::ios::trunc);
    file << text;
    return file.flush().good();
  }

 private:
  explicit EditedFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
  bool kept_ = false;
};

std::string editor() {
  for (const char* const name : {"SLUICECTL_EDITOR", "VISUAL", "EDITOR"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "vi";
}

bool run_editor(const std::string& path) {
  // As a shell reads it, because EDITOR may have arguments. The path has no quotes: it is made above.
  return std::system(fmt::format("{} '{}'", editor(), path).c_str()) == 0;
}

std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (!line.starts_with('#')) out.append(line).append("\n");
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

std::string as_comment(std::string_view text) {
  std::string out = "# ";
  for (const char character : text) {
    out.push_back(character);
    if (character == '\n') out.append("# ");
  }
  return out + "\n";
}

std::string yaml_of(Document& document) {
  const json::Value body = json::edited(document.tree(), document.root(), kMadeByServer);
  return yaml::yaml_of_json(body);
}

struct Refusal {
  std::string text;
  Faults faults = {};  // with their lines in what was sent

  // `offset`: how many lines the user sees above those.
  std::string describe(std::size_t offset) const {
    std::string lines = text;
    for (const Fault& fault : faults) {
      lines.append(fmt::format("\nline {}: {}{}{}", fault.line + offset, fault.pointer,
                               fault.pointer.empty() ? "" : ": ", fault.text));
    }
    return lines;
  }
};

// The refused text with what is wrong as comments above it. A line of the comments is that of the whole.
std::string with_comments(const Refusal& refusal, const std::string& text) {
  const std::string comments = as_comment(refusal.describe(0));
  return as_comment(refusal.describe(static_cast<std::size_t>(std::ranges::count(comments, '\n')))) + text;
}

// What is wrong with the text; nothing if it was stored.
Result<std::optional<Refusal>> put(Api& api, const Call& call, const std::string& text) {
  const auto yaml = yaml::json_of_yaml(text);
  if (!yaml) return Refusal{"This is not YAML.", {yaml.error()}};
  Call change = call;
  change.body = yaml->json;
  const auto answer = api.send(change);
  if (!answer) return std::unexpected(answer.error());
  if (answer->ok()) return std::nullopt;
  if (answer->status == kPreconditionFailed) {
    return failure("changed", "the object was changed by somebody else meanwhile: edit it again");
  }
  Refusal refusal{describe_problem(*answer, false)};
  for (const json::Value& fault : answer->document.root().items_of("errors")) {
    refusal.faults.push_back(
        {.pointer = std::string(fault.text_of("pointer")), .text = std::string(fault.text_of("detail"))});
  }
  yaml->locate(refusal.faults);
  return refusal;
}

Exit run_edit(Invocation& invocation, const ObjectOptions& options) {
  const auto named = find_objects(options.kind, options.ids);
  if (!named) return fail(named.error());
  if (named->size() != 1) return fail("edit needs one object: its kind and its id, such as policy orders");
  const auto& [kind, tenant, id] = named->front();
  if (!kind->can_be_edited) return fail(fmt::format("{} cannot be replaced: delete it and make another", kind->plural));
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  Call call{.path = path_to({kind->plural, id}),
            .query = {{"tenant_id", !kind->in_tenant ? ""
                                    : tenant.empty() ? invocation.tenant()
                                                     : tenant}}};
  auto before = (*api)->call(call);
  if (!before) return fail(before.error());
  call.method = "PUT";
  call.fields = {{"if-match", before->etag}};

  const std::string original = yaml_of(before->document);
  auto file = EditedFile::make(
      as_comment(fmt::format("{}/{}. Save and leave the editor to store it. Lines that begin with # are ignored.\n"
                             "Leave without a change to cancel.",
                             kind->name, id)) +
      original);
  if (!file) return fail(file.error());
  std::string sent = original;
  while (true) {
    if (!run_editor(file->path()))
      return fail(fmt::format("the editor {} failed: set EDITOR to another", sluice::quoted(editor())));
    const std::string text = without_comments(file->read());
    if (text == sent) {  // also after a refusal: the user gives up
      fmt::print(stderr, "{}/{} is not changed.\n", kind->name, id);
      return sent == original ? Exit::done : Exit::failed;
    }
    sent = text;
    const auto wrong = put(**api, call, text);
    if (!wrong) {
      file->keep();
      return fail(fmt::format("{} (your text is in {})", wrong.error().text, file->path()));
    }
    if (!*wrong) break;
    fmt::print(stderr, "{}\n", (*wrong)->describe(0));
    if (!file->write(with_comments(**wrong, text))) return fail(fmt::format("{} cannot be written", file->path()));
  }
  fmt::print("{}/{} changed\n", kind->name, id);
  return Exit::done;
}

}  // namespace

void add_edit(CLI::App& app, Invocation& invocation) {
  const auto [edit, options] = add_command(
      app, "edit", "Change one object in your editor (SLUICECTL_EDITOR, VISUAL or EDITOR).", invocation, run_edit);
  edit->add_option("kind", options->kind, "The kind, such as policy; or a name, such as policy/orders.")->required();
  edit->add_option("id", options->ids, "The object's id.");
}

}  // namespace sluice::ctl
