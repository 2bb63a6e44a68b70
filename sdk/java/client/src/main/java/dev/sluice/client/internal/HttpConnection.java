package dev.sluice.client.internal;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import javax.net.ssl.SSLContext;

/**
 * HTTP/1.1 (RFC 9112) on one connection, one call at a time: as much of it as an agent speaks. Everything else is an error, not
 * a guess.
 */
final class HttpConnection implements Closeable {
  static final int MAX_BODY = 2 << 20;
  private static final int MAX_HEAD = 64 << 10;

  private final Wire wire;
  private final ByteBuffer in = ByteBuffer.allocate(16 << 10).limit(0); // ready to be read from
  long idleSince; // System.nanoTime()
  private boolean sent; // a byte of the current call was written

  private HttpConnection(Wire wire) {
    this.wire = wire;
  }

  static HttpConnection open(Address address, SSLContext tls, Deadline deadline) throws IOException {
    return new HttpConnection(Wire.open(address, tls, deadline));
  }

  /** The reply is no HTTP, is cut, or is too large. */
  static final class ProtocolException extends IOException {
    private static final long serialVersionUID = 1L;

    ProtocolException(String text) {
      super(text);
    }
  }

  /** Whether the agent has neither closed the connection nor sent bytes that nobody asked for. */
  boolean usable() {
    in.clear();
    try {
      boolean quiet = wire.readSome(in) == 0;
      in.limit(0).position(0);
      return quiet;
    } catch (IOException broken) {
      return false;
    }
  }

  /** Whether a byte of the last call was written. */
  boolean sent() {
    return sent;
  }

  Reply call(ByteBuffer request, Deadline deadline) throws IOException {
    sent = false;
    int size = request.remaining();
    try {
      wire.write(request, deadline);
    } finally {
      sent = request.remaining() < size;
    }
    return read(deadline);
  }

  private Reply read(Deadline deadline) throws IOException {
    while (true) {
      String status = line(deadline, true);
      if (!status.matches("HTTP/1\\.[01] [1-5][0-9][0-9]( .*)?")) {
        throw new ProtocolException("the reply is no HTTP/1.1");
      }
      boolean newer = status.charAt(7) == '1';
      int code = Integer.parseInt(status.substring(9, 12));
      Map<String, String> headers = headers(deadline);
      if (code < 200) {
        continue; // an interim reply
      }
      byte[] body = body(code, headers, deadline);
      String connection = headers.getOrDefault("connection", "").toLowerCase(Locale.ROOT);
      boolean ended = code != 204 && code != 304 && !headers.containsKey("content-length") && !headers.containsKey("transfer-encoding");
      boolean reusable = newer && !ended && !connection.contains("close") && !in.hasRemaining();
      return new Reply(code, headers, body, reusable);
    }
  }

  private Map<String, String> headers(Deadline deadline) throws IOException {
    Map<String, String> headers = new LinkedHashMap<>();
    int size = 0;
    while (true) {
      String line = line(deadline, false);
      if (line.isEmpty()) {
        return headers;
      }
      size += line.length();
      int colon = line.indexOf(':');
      if (colon <= 0 || line.charAt(colon - 1) == ' ' || line.charAt(0) == ' ' || line.charAt(0) == '\t' || size > MAX_HEAD) {
        throw new ProtocolException("a header of the reply is broken");
      }
      String name = line.substring(0, colon).toLowerCase(Locale.ROOT);
      String value = line.substring(colon + 1).strip();
      String before = headers.put(name, value);
      if (before != null && !before.equals(value) && (name.equals("content-length") || name.equals("transfer-encoding"))) {
        throw new ProtocolException("the reply has two lengths");
      }
    }
  }

  private byte[] body(int code, Map<String, String> headers, Deadline deadline) throws IOException {
    String coding = headers.get("transfer-encoding");
    String length = headers.get("content-length");
    if (code == 204 || code == 304) {
      return new byte[0];
    }
    if (coding != null) {
      if (!coding.equalsIgnoreCase("chunked") || length != null) {
        throw new ProtocolException("the reply's length is not clear");
      }
      return chunks(deadline);
    }
    if (length == null) {
      return untilTheEnd(deadline);
    }
    if (!length.matches("[0-9]{1,10}")) {
      throw new ProtocolException("the reply's length is not clear");
    }
    long bytes = Long.parseLong(length);
    if (bytes > MAX_BODY) {
      throw new ProtocolException("the reply is larger than 2 MiB");
    }
    byte[] body = new byte[(int) bytes];
    take(body, 0, body.length, deadline);
    return body;
  }

  /** A body without a length ends with the connection (RFC 9112, 6.3). */
  private byte[] untilTheEnd(Deadline deadline) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    while (true) {
      body.write(in.array(), in.position(), in.remaining());
      if (body.size() > MAX_BODY) {
        throw new ProtocolException("the reply is larger than 2 MiB");
      }
      in.clear();
      int count = wire.read(in, deadline);
      in.flip();
      if (count < 0) {
        in.limit(0);
        return body.toByteArray();
      }
    }
  }

  private byte[] chunks(Deadline deadline) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    while (true) {
      String line = line(deadline, false);
      String digits = line.indexOf(';') < 0 ? line : line.substring(0, line.indexOf(';'));
      if (!digits.strip().matches("[0-9a-fA-F]{1,7}")) {
        throw new ProtocolException("a chunk of the reply is broken");
      }
      int size = Integer.parseInt(digits.strip(), 16);
      if (body.size() + size > MAX_BODY) {
        throw new ProtocolException("the reply is larger than 2 MiB");
      }
      if (size == 0) {
        headers(deadline); // the trailer
        return body.toByteArray();
      }
      byte[] chunk = new byte[size];
      take(chunk, 0, size, deadline);
      body.write(chunk);
      if (!line(deadline, false).isEmpty()) {
        throw new ProtocolException("a chunk of the reply is broken");
      }
    }
  }

  private String line(Deadline deadline, boolean first) throws IOException {
    StringBuilder line = new StringBuilder();
    while (true) {
      while (in.hasRemaining()) {
        byte next = in.get();
        if (next == '\n') {
          int length = line.length();
          if (length > 0 && line.charAt(length - 1) == '\r') {
            line.setLength(length - 1);
          }
          return line.toString();
        }
        line.append((char) (next & 0xff));
        // What is no HTTP may have no line end at all.
        if (line.length() > MAX_HEAD || (first && line.length() == 5 && !line.toString().equals("HTTP/"))) {
          throw new ProtocolException("the reply is no HTTP/1.1");
        }
      }
      fill(deadline);
    }
  }

  private void take(byte[] into, int from, int count, Deadline deadline) throws IOException {
    int at = from;
    while (at < from + count) {
      if (!in.hasRemaining()) {
        fill(deadline);
      }
      int part = Math.min(in.remaining(), from + count - at);
      in.get(into, at, part);
      at += part;
    }
  }

  private void fill(Deadline deadline) throws IOException {
    in.clear();
    int count;
    try {
      count = wire.read(in, deadline);
    } finally {
      in.flip();
    }
    if (count < 0) {
      in.limit(0);
      throw new ProtocolException("the agent closed the connection before the reply was complete");
    }
  }

  static ByteBuffer request(String head, String body) {
    byte[] content = body.getBytes(StandardCharsets.UTF_8);
    byte[] begin = (head + "content-length: " + content.length + "\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1);
    return ByteBuffer.allocate(begin.length + content.length).put(begin).put(content).flip();
  }

  @Override
  public void close() {
    wire.close();
  }
}
