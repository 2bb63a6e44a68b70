#include "common/sync/state_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"

namespace sluice::sync {
namespace {

constexpr std::string_view kMagic = "sluice-last-known-good/v1";
constexpr std::size_t kMaxHeadBytes = 256;
constexpr mode_t kMode = 0600;
constexpr mode_t kFolderMode = 0700;

// Files in the folder.
constexpr const char* kLock = "lock";
constexpr const char* kUnfinished = "new";

constexpr const char* kNoFile = "no_snapshot_file";
constexpr const char* kDamaged = "snapshot_file_damaged";
constexpr const char* kUntrusted = "snapshot_file_untrusted";
constexpr const char* kUnwritable = "snapshot_file_unwritable";

using Trust = PrivateFile::Trust;

std::string because(const std::string& path) { return fmt::format("{}: {}", path, std::strerror(errno)); }

std::unexpected<Error> unwritable(const std::string& path) {
  return failure(kUnwritable, because(path) + "; the last good state is not kept on disk");
}

std::string head_of(std::uint64_t generation, std::string_view content) {
  const std::string numbers = fmt::format("{} generation={} bytes={}", kMagic, generation, content.size());
  const Sha256Digest hash = Sha256().update(numbers).update("\n").update(content).finish();
  return fmt::format("{} sha256={}\n", numbers, to_hex(hash));
}

// Does not check the rest of the line; StateFiles::read() does.
std::optional<std::uint64_t> generation_in(std::string_view head) {
  const std::string start = fmt::format("{} generation=", kMagic);
  std::uint64_t generation = 0;
  if (!head.starts_with(start)) return std::nullopt;
  const auto [after, code] = std::from_chars(head.data() + start.size(), head.data() + head.size(), generation);
  if (code != std::errc{} || generation == 0) return std::nullopt;
  return generation;
}

// Lets the kernel allocate a large buffer at once: a page fault for each page costs more than reading the file.
void populate(std::string& buffer) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(buffer.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<std::uintptr_t>(buffer.data()) + buffer.capacity()) / page * page;
  // Older kernels refuse this call and allocate pages one by one.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
}

// The content of a file, at most `max_bytes` + 1 bytes, and its modification time. On failure, errno is set.
std::optional<std::string> read_all(int file, std::size_t max_bytes, std::chrono::sys_seconds& written) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return std::nullopt;
  written = std::chrono::sys_seconds(std::chrono::seconds(status.st_mtim.tv_sec));
  std::string text;
  text.reserve(std::min(static_cast<std::size_t>(status.st_size), max_bytes) + 1);
  populate(text);
  text.resize(text.capacity());
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

StateFiles::StateFiles(std::string path, Failpoint failpoint)
    : path_(std::move(path)), folder_path_(path_ + ".state"), failpoint_(std::move(failpoint)) {}

StateFiles::Place StateFiles::place_in(const FileDescriptor& folder) const {
  return {folder.get(), "", folder_path_ + "/"};
}

StateFiles::Place StateFiles::former_place() const { return {AT_FDCWD, path_ + ".", ""}; }

PrivateFile StateFiles::open_folder() const { return open_private(AT_FDCWD, folder_path_, FileKind::folder, O_RDONLY); }

// Returns nullopt if the file does not exist.
std::expected<std::optional<StateFiles::StoredState>, StateFiles::Flaw> StateFiles::read(const Place& place,
                                                                                         FileSlot slot) {
  const std::string path = place.path(slot);
  const PrivateFile file = open_private(place.folder, place.name(slot), FileKind::regular, O_RDONLY);
  if (file.trust == Trust::missing) return std::nullopt;
  if (file.trust != Trust::good) {
    return std::unexpected(Flaw{fmt::format("{} {}", path, file.reason), file.trust != Trust::unreadable});
  }
  std::chrono::sys_seconds written;
  auto text = read_all(file.descriptor.get(), kMaxContentBytes + kMaxHeadBytes, written);
  if (!text) return std::unexpected(Flaw{because(path)});
  const std::size_t head_size = text->find('\n') + 1;
  const auto generation = generation_in(*text);
  if (!generation || head_size == 0) return std::unexpected(Flaw{path + ": is not a file with a last good state"});
  const std::string head = text->substr(0, head_size);
  text->erase(0, head_size);
  StoredState found{.content = std::move(*text), .generation = *generation, .written = written};
  if (head != head_of(found.generation, found.content)) {
    return std::unexpected(Flaw{path + ": its content does not match its length and checksum"});
  }
  return found;
}

// The generation in a file's first line, or 0.
std::uint64_t StateFiles::peek(const Place& place, FileSlot slot) {
  const PrivateFile file = open_private(place.folder, place.name(slot), FileKind::regular, O_RDONLY);
  std::array<char, kMaxHeadBytes> head;
  const ssize_t size = file.trust == Trust::good ? ::read(file.descriptor.get(), head.data(), head.size()) : 0;
  return size > 0 ? generation_in({head.data(), static_cast<std::size_t>(size)}).value_or(0) : 0;
}

// A file without a valid first line comes before a valid file, so that the damage is reported.
std::array<StateFiles::FileSlot, 2> StateFiles::newest_first(const Place& place) {
  const std::uint64_t first = peek(place, FileSlot::first);
  const std::uint64_t second = peek(place, FileSlot::second);
  const bool second_first = second == 0 || (first != 0 && second > first);
  if (second_first) return {FileSlot::second, FileSlot::first};
  return {FileSlot::first, FileSlot::second};
}

Result<StateFiles::Loaded> StateFiles::load(const Check& check) const {
  const PrivateFile folder = open_folder();
  if (folder.trust == Trust::good) {
    auto loaded = load_from(place_in(folder.descriptor), check);
    if (loaded || loaded.error().code != kNoFile) return loaded;
  } else if (folder.trust != Trust::missing) {
    const bool untrusted = folder.trust != Trust::unreadable;
    return failure(untrusted ? kUntrusted : kDamaged, fmt::format("{} {}", folder_path_, folder.reason));
  }
  return load_from(former_place(), check);
}

Result<StateFiles::Loaded> StateFiles::load_from(const Place& place, const Check& check) const {
  std::vector<std::string> damage;
  bool untrusted = false;
  for (const FileSlot slot : newest_first(place)) {
    auto found = read(place, slot);
    if (!found) {
      untrusted = untrusted || found.error().untrusted;
      damage.push_back(std::move(found.error().text));
      continue;
    }
    if (!*found) continue;
    const auto wrong = check ? check((*found)->content) : std::nullopt;
    if (!wrong) {
      return Loaded{std::move((*found)->content), (*found)->generation, (*found)->written, std::move(damage)};
    }
    damage.push_back(fmt::format("{}: {}", place.path(slot), *wrong));
  }
  if (damage.empty()) return failure(kNoFile, fmt::format("{}: no state was saved there yet", path_));
  std::string text = damage[0];
  for (std::size_t i = 1; i < damage.size(); ++i) text.append("; ").append(damage[i]);
  return failure(untrusted ? kUntrusted : kDamaged, std::move(text));
}

bool StateFiles::fails(Step step) const {
  const int cause = failpoint_ ? failpoint_(step) : 0;
  if (cause != 0) errno = cause;
  return cause != 0;
}

// False also if the folder was moved away or removed: what is saved there would not be found again.
bool StateFiles::holds_lock() const {
  struct stat ours{};
  struct stat there{};
  return lock_ && ::fstat(folder_.get(), &ours) == 0 && ::lstat(folder_path_.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

// If this object does not have the lock yet, makes the folder fit to be written, takes the lock and finds the newest
// complete generation.
Result<> StateFiles::lock() {
  if (holds_lock()) return {};
  lock_ = FileDescriptor();
  folder_ = FileDescriptor();
  auto folder = make_folder();
  if (!folder) return std::unexpected(std::move(folder.error()));
  auto lock = take_lock(folder->descriptor);
  if (!lock) return std::unexpected(std::move(lock.error()));
  if (folder->trust == Trust::loosened) {
    if (auto emptied = empty(folder->descriptor); !emptied) return emptied;
  }
  take_over_former(folder->descriptor);
  folder_ = std::move(folder->descriptor);
  lock_ = std::move(*lock);
  find_newest();
  return {};
}

Result<PrivateFile> StateFiles::make_folder() const {
  PrivateFile folder = open_folder();
  if (folder.trust == Trust::missing) {
    if (::mkdir(folder_path_.c_str(), kFolderMode) != 0 && errno != EEXIST) return unwritable(folder_path_);
    if (auto synced = sync_parent(); !synced) return std::unexpected(std::move(synced.error()));
    folder = open_folder();
  }
  if (folder.descriptor) return folder;
  return failure(folder.trust == Trust::foreign ? kUntrusted : kUnwritable,
                 fmt::format("{} {}; the last good state is not kept on disk", folder_path_, folder.reason));
}

Result<FileDescriptor> StateFiles::take_lock(const FileDescriptor& folder) const {
  const std::string path = folder_path_ + "/" + kLock;
  if (fails(Step::lock)) return unwritable(path);
  const auto open_lock = [&folder] { return open_private(folder.get(), kLock, FileKind::regular, O_RDWR | O_CREAT); };
  PrivateFile file = open_lock();
  // While the folder was open to others, somebody may have put another file there.
  if (file.trust == Trust::foreign) {
    if (::unlinkat(folder.get(), kLock, 0) != 0) return unwritable(path);
    file = open_lock();
  }
  if (!file.descriptor) return failure(kUnwritable, fmt::format("{} {}", path, file.reason));
  if (::fchmod(file.descriptor.get(), kMode) != 0) return unwritable(path);
  if (::flock(file.descriptor.get(), LOCK_EX | LOCK_NB) == 0) return std::move(file.descriptor);
  if (errno != EWOULDBLOCK) return unwritable(path);
  return failure("snapshot_file_locked", fmt::format("{}: another process holds the lock of these state files", path_));
}

// Takes the folder from others, and then removes what they can have changed.
Result<> StateFiles::empty(const FileDescriptor& folder) const {
  if (::fchmod(folder.get(), kFolderMode) != 0) return unwritable(folder_path_);
  const Place place = place_in(folder);
  for (const FileSlot slot : {FileSlot::first, FileSlot::second}) {
    if (::unlinkat(folder.get(), place.name(slot).c_str(), 0) != 0 && errno != ENOENT) {
      return unwritable(place.path(slot));
    }
  }
  return {};
}

// Moves the files of a former version into an empty folder, the newest first. A rename keeps the time of the last
// confirmation. Removes what is of no use any more.
void StateFiles::take_over_former(const FileDescriptor& folder) const {
  const Place former = former_place();
  const Place place = place_in(folder);
  const auto exists = [&place](FileSlot slot) {
    return ::faccessat(place.folder, place.name(slot).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  };
  const bool is_empty = !exists(FileSlot::first) && !exists(FileSlot::second);
  for (const FileSlot slot : newest_first(former)) {
    const std::string name = former.name(slot);
    const Trust trust = open_private(former.folder, name, FileKind::regular, O_RDONLY).trust;
    if (trust == Trust::good && is_empty) {
      ::renameat(former.folder, name.c_str(), place.folder, place.name(slot).c_str());
    } else if (trust == Trust::good || trust == Trust::loosened) {
      ::unlink(name.c_str());
    }
  }
  for (const char* const name : {kLock, kUnfinished}) {
    const std::string path = former.names + name;
    if (open_private(former.folder, path, FileKind::regular, O_RDONLY).descriptor) ::unlink(path.c_str());
  }
}

void StateFiles::find_newest() {
  generation_ = 0;
  next_ = FileSlot::first;
  for (const FileSlot slot : {FileSlot::first, FileSlot::second}) {
    const auto found = read(place_in(folder_), slot);
    if (!found || !*found || (*found)->generation <= generation_) continue;
    generation_ = (*found)->generation;
    next_ = slot == FileSlot::first ? FileSlot::second : FileSlot::first;
  }
}

Result<> StateFiles::save(std::string_view content) {
  if (content.size() > kMaxContentBytes) {
    return failure("snapshot_file_too_large",
                   fmt::format("the state has {} bytes; a file holds at most {}", content.size(), kMaxContentBytes));
  }
  if (auto locked = lock(); !locked) return locked;
  auto done = write_new(content);
  if (done) done = put();
  if (!done) ::unlinkat(folder_.get(), kUnfinished, 0);  // frees space, as the disk may be full
  return done;
}

Result<> StateFiles::confirm() {
  if (auto locked = lock(); !locked) return locked;
  if (generation_ == 0) return {};
  const Place place = place_in(folder_);
  const FileSlot newest = next_ == FileSlot::first ? FileSlot::second : FileSlot::first;
  if (::utimensat(place.folder, place.name(newest).c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) {
    return unwritable(place.path(newest));
  }
  return {};
}

Result<> StateFiles::write_new(std::string_view content) const {
  const std::string path = folder_path_ + "/" + kUnfinished;
  ::unlinkat(folder_.get(), kUnfinished, 0);  // a process that was killed may have left this file behind
  const FileDescriptor file(
      fails(Step::create) ? -1 : ::openat(folder_.get(), kUnfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) return unwritable(path);
  const std::string head = head_of(generation_ + 1, content);
  for (std::string_view part = head, rest = content; !part.empty();) {
    if (fails(Step::write) || !write_all(file.get(), part)) return unwritable(path);
    part = rest.substr(0, kWriteBytes);
    rest.remove_prefix(part.size());
  }
  if (fails(Step::sync) || ::fsync(file.get()) != 0) return unwritable(path);
  return {};
}

// Renames the finished file over the file with the older generation.
Result<> StateFiles::put() {
  const Place place = place_in(folder_);
  if (fails(Step::rename) || ::renameat(folder_.get(), kUnfinished, folder_.get(), place.name(next_).c_str()) != 0) {
    return unwritable(place.path(next_));
  }
  // From here on load() returns the new state, but a power failure may still lose it.
  ++generation_;
  next_ = next_ == FileSlot::first ? FileSlot::second : FileSlot::first;
  if (fails(Step::sync_folder) || ::fsync(folder_.get()) != 0) return unwritable(folder_path_);
  return {};
}

// So that a power failure does not lose a new folder.
Result<> StateFiles::sync_parent() const {
  auto parent = std::filesystem::path(path_).parent_path().string();
  if (parent.empty()) parent = ".";
  const FileDescriptor opened(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return unwritable(parent);
  return {};
}

}  // namespace sluice::sync
