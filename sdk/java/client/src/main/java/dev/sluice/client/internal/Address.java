package dev.sluice.client.internal;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.URI;
import java.net.UnixDomainSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Where an agent is. */
public final class Address {
  private final String text;
  private final String host; // null for a Unix socket
  private final int port;
  private final boolean tls;
  private final UnixDomainSocketAddress socket;
  private volatile List<SocketAddress> resolved; // only of what never changes

  private Address(String text, String host, int port, boolean tls, UnixDomainSocketAddress socket) {
    this.text = text;
    this.host = host;
    this.port = port;
    this.tls = tls;
    this.socket = socket;
  }

  /**
   * Reads an address.
   *
   * @param source what it came from, for the error
   * @throws IllegalArgumentException if it is no http, https or unix address of a host or a socket alone
   */
  public static Address parse(String source, String text) {
    String rule = source + " must be http://HOST[:PORT], https://HOST[:PORT] or unix:///PATH, without a user, path or query";
    if (text.startsWith("unix:")) {
      String path = text.startsWith("unix://") ? text.substring(7) : text.substring(5);
      if (!path.startsWith("/")) {
        throw new IllegalArgumentException(rule + "; got \"" + text + "\"");
      }
      return new Address(text, null, 0, false, UnixDomainSocketAddress.of(path));
    }
    URI uri;
    try {
      uri = URI.create(text);
    } catch (IllegalArgumentException wrong) {
      throw new IllegalArgumentException(rule);
    }
    boolean tls = "https".equals(uri.getScheme());
    boolean bare = uri.getRawUserInfo() == null && uri.getRawQuery() == null && uri.getRawFragment() == null
        && (uri.getRawPath() == null || uri.getRawPath().isEmpty() || uri.getRawPath().equals("/"));
    if ((!tls && !"http".equals(uri.getScheme())) || uri.getHost() == null || !bare || uri.getPort() > 65_535) {
      // A text with an @ may hold a password.
      throw new IllegalArgumentException(text.indexOf('@') >= 0 ? rule : rule + "; got \"" + text + "\"");
    }
    int port = uri.getPort() == -1 ? (tls ? 443 : 80) : uri.getPort();
    return new Address(text, uri.getHost(), port, tls, null);
  }

  /** For the header Host. */
  public String hostHeader() {
    if (host == null) {
      return "sluice";
    }
    return port == (tls ? 443 : 80) ? host : host + ":" + port;
  }

  /** The name or address that a certificate must be for. */
  public String host() {
    return host != null && host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }

  public int port() {
    return port;
  }

  public boolean tls() {
    return tls;
  }

  public boolean isUnix() {
    return socket != null;
  }

  /** Whether nothing is to be looked up that may move or take time. Not so {@code agent-0}, the name of a pod. */
  boolean isFixed() {
    return socket != null || host.startsWith("[") || host.matches("[0-9.]+") || host.equals("localhost");
  }

  /** The addresses to connect to, the first one first. Looks a name up again each time, because a name may move. */
  List<SocketAddress> toConnect(Deadline deadline) throws IOException {
    if (resolved != null) {
      return resolved;
    }
    if (isFixed()) {
      resolved = socket != null ? List.of(socket) : all(InetAddress.getAllByName(host()));
      return resolved;
    }
    Future<InetAddress[]> looked = Background.lookup(host());
    try {
      return all(looked.get(deadline.nanosLeft(), TimeUnit.NANOSECONDS));
    } catch (TimeoutException late) {
      throw new Deadline.PassedException("the name " + host + " was not found in time");
    } catch (ExecutionException failed) {
      throw new IOException("the name " + host + " is not found");
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new Deadline.InterruptedCallException();
    }
  }

  private List<SocketAddress> all(InetAddress[] found) {
    return Arrays.stream(found).<SocketAddress>map(one -> new InetSocketAddress(one, port)).toList();
  }

  @Override
  public String toString() {
    return text;
  }
}
