// The last good state, in a file, for an agent that starts while the server is away. Two generations, PATH.1 and
// PATH.2: a new one is written beside them, synced, and then renamed over the older, so that at every moment, whatever
// is killed, at least one is whole, and the newest that is whole is the state before the last save() or that of it.
//
//   sluice-last-known-good/v1 generation=7 bytes=123 sha256=<64 hex>\n<content>
//
// The hash covers generation, length and content. Files have mode 0600: the content has the hashes of API keys.
// PATH.lock keeps a second process, such as an agent's successor that starts before it has ended, from writing at the
// same time. (Two files in turn, instead of a file and its backup, need one rename only, which is atomic.)
//
// A save that fails changes nothing; the caller shows the error and goes on. Thread safety: none; one at a time; meant
// for a thread that may wait for the disk.
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

class LastKnownGood {
 public:
  static constexpr std::size_t kMaxContentBytes = 2 * kMaxSnapshotBytes;  // the hashes stand in it too

  // What save() does, in this order; `write` once for each kWriteBytes.
  enum class Step : std::uint8_t { lock, create, write, sync, rename, sync_folder };
  static constexpr std::size_t kWriteBytes = std::size_t{64} << 10;

  // Called before each step, by tests: returns 0, or the errno that the step is to fail with instead. It may kill.
  using Failpoint = std::function<int(Step)>;

  explicit LastKnownGood(std::string path, Failpoint failpoint = {});
  ~LastKnownGood();
  LastKnownGood(const LastKnownGood&) = delete;
  LastKnownGood& operator=(const LastKnownGood&) = delete;

  // What is wrong with a content that is whole: a text for the log, or nothing. For a file that another version wrote.
  using Check = std::function<std::optional<std::string>(std::string_view content)>;

  struct Loaded {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;  // or confirmed since: the file's time
    std::vector<std::string> damage;   // what is wrong with the other one: this may be the generation before
  };

  // The newest generation that is whole and passes the check. Writes nothing, and needs no lock.
  // Errors: `no_snapshot_file` (there is none), `snapshot_file_damaged` (none that could be taken; says why of each).
  Result<Loaded> load(const Check& check = {}) const;

  // What was saved last still holds: from now on load() tells this time as the one it was written at. Errors: as of
  // save().
  Result<> confirm();

  // Makes `content` the newest generation. It is on the disk when this returns without an error.
  // Errors: `snapshot_file_locked` (another process writes it), `snapshot_file_too_large`, `snapshot_file_unwritable`
  // (disk full, read-only, a folder missing: names file and cause). The next call tries all of it again.
  Result<> save(std::string_view content);

 private:
  enum class Slot : std::uint8_t { first, second };
  struct Found {
    std::string content;
    std::uint64_t generation = 0;
    std::chrono::sys_seconds written;
  };

  std::string path_of(Slot slot) const;
  std::uint64_t peek(Slot slot) const;
  std::expected<std::optional<Found>, std::string> read(Slot slot) const;
  Result<> lock();
  Result<> write_new(std::string_view content, const std::string& path) const;
  Result<> put(const std::string& finished);
  bool fails(Step step) const;  // with errno

  const std::string path_;
  const Failpoint failpoint_;
  int lock_ = -1;                 // held from the first save on
  std::uint64_t generation_ = 0;  // the newest that is whole, while the lock is held
  Slot next_ = Slot::first;       // where the next one goes, while the lock is held
};

}  // namespace sluice::sync
