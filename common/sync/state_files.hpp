// Keeps the last good state in files, for an agent that starts while the server cannot be reached.
//
// The files 1 and 2 in the folder PATH.state hold the last two saved states. Each has a generation number, which counts
// the saves. save() writes a new file, syncs it and renames it over the older of the two. So after the first save at
// least one file is complete at every moment.
//
//   sluice-last-known-good/v1 generation=7 bytes=123 sha256=<64 hex>\n<content>
//
// The hash covers generation, length and content. It shows damage, but anybody can compute it. So nothing is loaded
// that somebody else can have written: folder and files must belong to this process's user, and nobody else may have
// the right to write them. The folder has mode 0700. If it was loosened, load() refuses what is in it, and the next
// save() or confirm() removes that and sets the mode again. Files have mode 0600, because the content has the hashes of
// API keys. The file `lock` keeps a second process, such as the next agent, from writing at the same time.
//
// Former versions kept PATH.1 and PATH.2 beside the folder. load() takes them while the folder has no state; the first
// save() or confirm() moves them into it.
//
// A save that fails changes nothing, unless only the sync of the folder fails: then load() returns the new state. All
// functions wait for the disk. Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/sync/private_file.hpp"
#include "common/sync/snapshot_document.hpp"

namespace sluice::sync {

class StateFiles {
 public:
  static constexpr std::size_t kMaxContentBytes = 2 * kMaxSnapshotBytes;

  // The steps of save(), in order; `write` is repeated for each kWriteBytes.
  enum class Step : std::uint8_t { lock, create, write, sync, rename, sync_folder };
  static constexpr std::size_t kWriteBytes = std::size_t{64} << 10;

  // For tests: called before each step. Returns 0, or the errno that the step must fail with.
  using Failpoint = std::function<int(Step)>;

  explicit StateFiles(std::string path, Failpoint failpoint = {});
  StateFiles(const StateFiles&) = delete;
  StateFiles& operator=(const StateFiles&) = delete;

  // Returns why undamaged content is not usable, for example because its format has another version.
  using Check = std::function<std::optional<std::string>(std::string_view content)>;

  struct Loaded {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;  // when the content was written or last confirmed
    std::vector<std::string> damage;   // why the other file is not used; a newer generation may be lost
  };

  // The newest complete generation that passes the check. Needs no lock, and changes nothing.
  // Errors: `no_snapshot_file` (there is no file), `snapshot_file_damaged` (no file is usable),
  // `snapshot_file_untrusted` (no file is usable, and others can have written one of them).
  Result<Loaded> load(const Check& check = {}) const;

  // Records that the newest state, if any, is still valid: a later load() returns the time of this call in
  // Loaded::written. Errors as save().
  Result<> confirm();

  // Makes `content` the newest generation.
  // Errors: `snapshot_file_locked` (another process holds the lock), `snapshot_file_too_large`,
  // `snapshot_file_untrusted` (somebody else's folder is in the way), `snapshot_file_unwritable` (disk full, read-only,
  // no folder to make PATH.state in).
  Result<> save(std::string_view content);

 private:
  enum class FileSlot : std::uint8_t { first, second };
  struct StoredState {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;
  };

  // Where files are: in our folder, or, of a former version, beside it.
  struct Place {
    int folder;         // descriptor or AT_FDCWD
    std::string names;  // what their names begin with
    std::string shown;  // what comes before the names in texts for people

    std::string name(FileSlot slot) const { return names + (slot == FileSlot::first ? "1" : "2"); }
    std::string path(FileSlot slot) const { return shown + name(slot); }
  };
  // Why a file is not usable.
  struct Flaw {
    std::string text;
    bool untrusted = false;
  };

  static std::uint64_t peek(const Place& place, FileSlot slot);
  static std::array<FileSlot, 2> newest_first(const Place& place);
  static std::expected<std::optional<StoredState>, Flaw> read(const Place& place, FileSlot slot);
  Result<Loaded> load_from(const Place& place, const Check& check) const;

  Place place_in(const FileDescriptor& folder) const;
  Place former_place() const;
  PrivateFile open_folder() const;
  bool holds_lock() const;
  Result<> lock();
  Result<PrivateFile> make_folder() const;
  Result<FileDescriptor> take_lock(const FileDescriptor& folder) const;
  Result<> empty(const FileDescriptor& folder) const;
  void take_over_former(const FileDescriptor& folder) const;
  void find_newest();
  Result<> write_new(std::string_view content) const;
  Result<> put();
  Result<> sync_parent() const;
  bool fails(Step step) const;  // sets errno

  const std::string path_;
  const std::string folder_path_;
  const Failpoint failpoint_;
  FileDescriptor folder_;            // open from the first save() or confirm() on
  FileDescriptor lock_;              // holds the lock as long as folder_ is open
  std::uint64_t generation_ = 0;     // newest complete generation, while the lock is held
  FileSlot next_ = FileSlot::first;  // the file that the next save replaces, while the lock is held
};

}  // namespace sluice::sync
