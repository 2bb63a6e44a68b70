// The file of contexts: which servers there are, and the token for each.
//
// It is YAML, readable by its owner only (0600), and replaced as a whole, so that a reader never sees half of it.
//
// Thread safety: none. Two programs that write at the same time both succeed; the later one wins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"

namespace sluice::ctl {

struct Context {
  std::string name;
  std::string server;  // URL
  std::string token = {};
  std::string ca = {};      // path of CA certificates; "": those of the operating system
  std::string tenant = {};  // where a command names none; "" for none
  bool insecure = false;    // http:// to another machine is allowed
};

class Contexts {
 public:
  // A file that does not exist has no contexts. Errors: `file` (cannot be read, or others may read it), `contexts` (its
  // content is not valid).
  static Result<Contexts> load(const std::string& path);
  // Makes the folder too. Error: `file`.
  Result<> save() const;

  const std::vector<Context>& all() const { return contexts_; }
  const std::string& current() const { return current_; }
  // Returns nullptr if there is none.
  const Context* find(std::string_view name) const;

  void put(Context context);  // replaces the one of the same name
  bool use(std::string_view name);
  bool remove(std::string_view name);  // without a current context afterwards, if it was that one

 private:
  std::string path_;
  std::string current_;
  std::vector<Context> contexts_;
};

// $SLUICECTL_CONFIG, else sluice/contexts.yaml in $XDG_CONFIG_HOME or in ~/.config. "" if the environment names none.
std::string default_contexts_path();

}  // namespace sluice::ctl
