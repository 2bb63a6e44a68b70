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

// Owns a file descriptor. The destructor keeps errno.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    const int cause = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    errno = cause;
  }

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

std::string because(const std::string& path) { return fmt::format("{}: {}", path, std::strerror(errno)); }

std::unexpected<Error> unwritable(const std::string& path) {
  return failure("snapshot_file_unwritable", because(path) + "; the last good state is not kept on disk");
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

// The content of a regular file, at most `max_bytes` + 1 bytes, and its modification time. On failure, errno is set.
std::optional<std::string> read_all(int file, std::size_t max_bytes, std::chrono::sys_seconds& written) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return std::nullopt;
  }
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
    : path_(std::move(path)), failpoint_(std::move(failpoint)) {}

StateFiles::~StateFiles() {
  if (lock_ >= 0) ::close(lock_);  // releases the lock too
}

std::string StateFiles::path_of(FileSlot slot) const { return path_ + (slot == FileSlot::first ? ".1" : ".2"); }

// Returns nullopt if the file does not exist. The error says why a file is damaged or unreadable.
std::expected<std::optional<StateFiles::StoredState>, std::string> StateFiles::read(FileSlot slot) const {
  const std::string path = path_of(slot);
  // O_NONBLOCK, because opening a named pipe would block for ever.
  const File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  std::chrono::sys_seconds written;
  auto text = file ? read_all(file.descriptor(), kMaxContentBytes + kMaxHeadBytes, written) : std::nullopt;
  if (!text) return std::unexpected(because(path));
  const std::size_t head_size = text->find('\n') + 1;
  const auto generation = generation_in(*text);
  if (!generation || head_size == 0) return std::unexpected(path + ": is not a file with a last good state");
  const std::string head = text->substr(0, head_size);
  text->erase(0, head_size);
  StoredState found{.content = std::move(*text), .generation = *generation, .written = written};
  if (head != head_of(found.generation, found.content)) {
    return std::unexpected(path + ": its content does not match its length and checksum");
  }
  return found;
}

// The generation in a file's first line, or 0.
std::uint64_t StateFiles::peek(FileSlot slot) const {
  const File file(::open(path_of(slot).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  std::array<char, kMaxHeadBytes> head;
  const ssize_t size = file ? ::read(file.descriptor(), head.data(), head.size()) : 0;
  return size > 0 ? generation_in({head.data(), static_cast<std::size_t>(size)}).value_or(0) : 0;
}

Result<StateFiles::Loaded> StateFiles::load(const Check& check) const {
  const std::uint64_t first = peek(FileSlot::first);
  const std::uint64_t second = peek(FileSlot::second);
  // Reads the newer file first. A file without a valid first line comes before a valid file, so that the damage is
  // reported.
  const bool second_first = second == 0 || (first != 0 && second > first);
  std::vector<std::string> damage;
  for (const FileSlot slot :
       {second_first ? FileSlot::second : FileSlot::first, second_first ? FileSlot::first : FileSlot::second}) {
    auto found = read(slot);
    if (!found) {
      damage.push_back(std::move(found.error()));
      continue;
    }
    if (!*found) continue;
    const auto wrong = check ? check((*found)->content) : std::nullopt;
    if (!wrong) {
      return Loaded{std::move((*found)->content), (*found)->generation, (*found)->written, std::move(damage)};
    }
    damage.push_back(fmt::format("{}: {}", path_of(slot), *wrong));
  }
  if (damage.empty()) return failure("no_snapshot_file", fmt::format("{}: no state was saved there yet", path_));
  std::string text = damage[0];
  for (std::size_t i = 1; i < damage.size(); ++i) text.append("; ").append(damage[i]);
  return failure("snapshot_file_damaged", std::move(text));
}

bool StateFiles::fails(Step step) const {
  const int cause = failpoint_ ? failpoint_(step) : 0;
  if (cause != 0) errno = cause;
  return cause != 0;
}

// If this object does not have the lock yet, takes the lock and finds the newest complete generation.
Result<> StateFiles::lock() {
  if (lock_ >= 0) return {};
  const std::string path = path_ + ".lock";
  File file(fails(Step::lock) ? -1 : ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kMode));
  if (!file) return unwritable(path);
  if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unwritable(path);
    return failure("snapshot_file_locked",
                   fmt::format("{}: another process holds the lock of these state files", path_));
  }
  generation_ = 0;
  next_ = FileSlot::first;
  for (const FileSlot slot : {FileSlot::first, FileSlot::second}) {
    const auto found = read(slot);
    if (!found || !*found || (*found)->generation <= generation_) continue;
    generation_ = (*found)->generation;
    next_ = slot == FileSlot::first ? FileSlot::second : FileSlot::first;
  }
  lock_ = file.release();
  return {};
}

Result<> StateFiles::save(std::string_view content) {
  if (content.size() > kMaxContentBytes) {
    return failure("snapshot_file_too_large",
                   fmt::format("the state has {} bytes; a file holds at most {}", content.size(), kMaxContentBytes));
  }
  if (auto locked = lock(); !locked) return locked;
  const std::string unfinished = path_ + ".new";
  auto done = write_new(content, unfinished);
  if (done) done = put(unfinished);
  if (!done) ::unlink(unfinished.c_str());  // frees space, as the disk may be full
  return done;
}

Result<> StateFiles::confirm() {
  if (auto locked = lock(); !locked) return locked;
  if (generation_ == 0) return {};
  const std::string path = path_of(next_ == FileSlot::first ? FileSlot::second : FileSlot::first);
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) != 0) return unwritable(path);
  return {};
}

Result<> StateFiles::write_new(std::string_view content, const std::string& path) const {
  ::unlink(path.c_str());  // a process that was killed may have left this file behind
  const File file(fails(Step::create) ? -1 : ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!file) return unwritable(path);
  const std::string head = head_of(generation_ + 1, content);
  for (std::string_view part = head, rest = content; !part.empty();) {
    if (fails(Step::write) || !write_all(file.descriptor(), part)) return unwritable(path);
    part = rest.substr(0, kWriteBytes);
    rest.remove_prefix(part.size());
  }
  if (fails(Step::sync) || ::fsync(file.descriptor()) != 0) return unwritable(path);
  return {};
}

// Renames the finished file over the file with the older generation.
Result<> StateFiles::put(const std::string& finished) {
  const std::string path = path_of(next_);
  if (fails(Step::rename) || ::rename(finished.c_str(), path.c_str()) != 0) return unwritable(path);
  // From here on load() returns the new state, but a power failure may still lose it.
  ++generation_;
  next_ = next_ == FileSlot::first ? FileSlot::second : FileSlot::first;
  auto folder = std::filesystem::path(path_).parent_path().string();
  if (folder.empty()) folder = ".";
  const File opened(fails(Step::sync_folder) ? -1 : ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.descriptor()) != 0) return unwritable(folder);
  return {};
}

}  // namespace sluice::sync
