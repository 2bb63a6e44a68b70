// Keeps the last good state in files, for an agent that starts while the server cannot be reached.
//
// The files PATH.1 and PATH.2 hold the last two saved states. Each has a generation number, which counts the saves.
// save() writes a new file, syncs it and renames it over the older of the two. So after the first save at least one
// file is complete at every moment.
//
//   sluice-last-known-good/v1 generation=7 bytes=123 sha256=<64 hex>\n<content>
//
// The hash covers generation, length and content. Files have mode 0600, because the content has the hashes of API keys.
// PATH.lock keeps a second process, such as the next agent, from writing at the same time.
//
// A save that fails changes nothing, unless only the sync of the folder fails: then load() returns the new state. All
// functions wait for the disk. Not thread-safe.
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
  static constexpr std::size_t kMaxContentBytes = 2 * kMaxSnapshotBytes;

  // The steps of save(), in order; `write` is repeated for each kWriteBytes.
  enum class Step : std::uint8_t { lock, create, write, sync, rename, sync_folder };
  static constexpr std::size_t kWriteBytes = std::size_t{64} << 10;

  // For tests: called before each step. Returns 0, or the errno that the step must fail with.
  using Failpoint = std::function<int(Step)>;

  explicit StateFiles(std::string path, Failpoint failpoint = {});
  ~StateFiles();
  StateFiles(const StateFiles&) = delete;
  StateFiles& operator=(const StateFiles&) = delete;

  // Returns why undamaged content is not usable, for example because its format has another version.
  using Check = std::function<std::optional<std::string>(std::string_view content)>;

  struct Loaded {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;  // when the content was written or last confirmed
    std::vector<std::string> damage;   // faults of the other file; a newer generation may be lost
  };

  // The newest complete generation that passes the check. Needs no lock.
  // Errors: `no_snapshot_file` (there is no file), `snapshot_file_damaged` (no file is usable).
  Result<Loaded> load(const Check& check = {}) const;

  // Records that the newest state, if any, is still valid: a later load() returns the time of this call in
  // Loaded::written. Errors as save().
  Result<> confirm();

  // Makes `content` the newest generation.
  // Errors: `snapshot_file_locked` (another process holds the lock), `snapshot_file_too_large`,
  // `snapshot_file_unwritable` (disk full, read-only, no such folder).
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
  bool fails(Step step) const;  // sets errno

  const std::string path_;
  const Failpoint failpoint_;
  int lock_ = -1;                    // descriptor of PATH.lock, or -1 before the first save() or confirm()
  std::uint64_t generation_ = 0;     // newest complete generation, while the lock is held
  FileSlot next_ = FileSlot::first;  // the file that the next save replaces, while the lock is held
};

}  // namespace sluice::sync
