package dev.sluice.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** The API key: none, a text, or the content of a file that may change. */
final class ApiKey {
  private final Path file;
  private volatile String text;

  private ApiKey(Path file, String text) {
    this.file = file;
    this.text = text;
  }

  static ApiKey none() {
    return new ApiKey(null, null);
  }

  static ApiKey of(String text) {
    return new ApiKey(null, text);
  }

  static ApiKey inFile(Path file) {
    return new ApiKey(file, null);
  }

  /** The key, or null for none. Reads the file with the first call. */
  String get() {
    if (file != null && text == null) {
      text = read();
    }
    return text;
  }

  /** After a 401 of the key {@code used}: the key, if the file has another one by now. */
  Optional<String> changed(String used) {
    if (file == null) {
      return Optional.empty();
    }
    String now;
    try {
      now = read();
    } catch (SluiceException unreadable) {
      return Optional.empty();
    }
    text = now;
    return now.equals(used) ? Optional.empty() : Optional.of(now);
  }

  private String read() {
    String content;
    try {
      content = Files.readString(file).strip();
    } catch (IOException | RuntimeException unreadable) {
      throw new SluiceException(ErrorKind.REFUSED, "the API key's file " + file + " cannot be read");
    }
    if (content.isEmpty() || content.chars().anyMatch(c -> c <= 0x20 || c > 0x7e)) {
      throw new SluiceException(ErrorKind.REFUSED, "the file " + file + " must hold one API key: visible ASCII without spaces");
    }
    return content;
  }
}
