// Keeps the last good state in files, for an agent that starts while the server cannot be reached.
//
// The two files PATH.1 and PATH.2 hold the last two saved states. Each file has a generation number: 1 for the first
// save, and one more for each later save. save() writes a new file beside them, syncs it and renames it over the older
// one. So after the first save at least one file is complete at every moment. The newest complete file has the state of
// the last or the second to last save().
//
//   sluice-last-known-good/v1 generation=7 bytes=123 sha256=<64 hex>\n<content>
//
// The hash covers generation, length and content. Files have mode 0600, because the content has the hashes of API keys.
// PATH.lock keeps a second process from writing at the same time, for example a new agent that starts before the old
// one has ended. Saving to two files in turn needs only one rename, which is atomic; a file and its backup would need
// two renames.
//
// A save that fails changes nothing, with one exception: if only the sync of the folder fails, load() returns the new
// state. All functions wait for the disk. Thread safety: none.
#pragma once

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
#include "common/sync/snapshot_document.hpp"

namespace sluice::sync {

class StateFiles {
 public:
  static constexpr std::size_t kMaxContentBytes = 2 * kMaxSnapshotBytes;  // room for a snapshot and all the hashes

  // The steps of save(), in order; `write` is repeated for each kWriteBytes.
  enum class Step : std::uint8_t { lock, create, write, sync, rename, sync_folder };
  static constexpr std::size_t kWriteBytes = std::size_t{64} << 10;

  // For tests: called before each step. Returns 0, or the errno that the step must fail with. It may kill the process.
  using Failpoint = std::function<int(Step)>;

  explicit StateFiles(std::string path, Failpoint failpoint = {});
  ~StateFiles();
  StateFiles(const StateFiles&) = delete;
  StateFiles& operator=(const StateFiles&) = delete;

  // Checks content that is undamaged but may be from another version. Returns nullopt if the content is usable, else
  // the reason why it is not, for the log.
  using Check = std::function<std::optional<std::string>(std::string_view content)>;

  struct Loaded {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;  // when it was written or last confirmed: the file's modification time
    std::vector<std::string> damage;   // faults of the other file; if not empty, a newer generation may be lost
  };

  // The newest complete generation that passes the check. Writes nothing and needs no lock.
  // Errors: `no_snapshot_file` (there is no file), `snapshot_file_damaged` (no file is usable; the text gives the
  // reason for each).
  Result<Loaded> load(const Check& check = {}) const;

  // Records that the state saved last is still valid: load() then reports the current time as `written`. Does nothing
  // if no state was saved. Errors as save().
  Result<> confirm();

  // Makes `content` the newest generation. Unless an error is returned, `content` is then on the disk.
  // Errors: `snapshot_file_locked` (another process holds the lock), `snapshot_file_too_large`,
  // `snapshot_file_unwritable` (disk full, read-only, no such folder; the text names file and cause). The next call
  // retries everything.
  Result<> save(std::string_view content);

 private:
  enum class FileSlot : std::uint8_t { first, second };
  struct StoredState {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;
  };

  std::string path_of(FileSlot slot) const;
  std::uint64_t peek(FileSlot slot) const;
  std::expected<std::optional<StoredState>, std::string> read(FileSlot slot) const;
  Result<> lock();
  Result<> write_new(std::string_view content, const std::string& path) const;
  Result<> put(const std::string& finished);
  bool fails(Step step) const;  // true: the failpoint set errno

  const std::string path_;
  const Failpoint failpoint_;
  int lock_ = -1;                    // descriptor of PATH.lock, held from the first save() or confirm(); -1: not held
  std::uint64_t generation_ = 0;     // newest complete generation; valid while the lock is held
  FileSlot next_ = FileSlot::first;  // file that the next save replaces; valid while the lock is held
};

}  // namespace sluice::sync
