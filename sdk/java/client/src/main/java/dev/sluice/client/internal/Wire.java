package dev.sluice.client.internal;

import java.io.Closeable;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;

/**
 * A stream of bytes to an agent, over TCP, a Unix socket or TLS, whose every operation has a deadline and ends when the thread is
 * interrupted. Used by one thread at a time.
 */
class Wire implements Closeable {
  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;

  private Wire(SocketChannel channel, Selector selector) throws IOException {
    this.channel = channel;
    this.selector = selector;
    channel.configureBlocking(false);
    this.key = channel.register(selector, 0);
  }

  /** For a wire on top of another one. */
  protected Wire(Wire below) {
    this.channel = below.channel;
    this.selector = below.selector;
    this.key = below.key;
  }

  /** Connects. {@code tls}: null without TLS. */
  static Wire open(Address address, SSLContext tls, Deadline deadline) throws IOException {
    return open(address, address.toConnect(deadline), tls, deadline);
  }

  /** Connects to the first of the targets that takes the connection. */
  static Wire open(Address address, List<SocketAddress> targets, SSLContext tls, Deadline deadline) throws IOException {
    IOException failure = null;
    for (SocketAddress target : targets) {
      try {
        return open(address, target, tls, deadline);
      } catch (Deadline.PassedException | Deadline.InterruptedCallException over) {
        throw over;
      } catch (IOException failed) {
        failure = failed;
      }
    }
    throw failure != null ? failure : new IOException("the name has no address");
  }

  private static Wire open(Address address, SocketAddress target, SSLContext tls, Deadline deadline) throws IOException {
    SocketChannel channel = address.isUnix()
        ? SocketChannel.open(java.net.StandardProtocolFamily.UNIX)
        : SocketChannel.open();
    Wire wire = null;
    try {
      if (!address.isUnix()) {
        channel.setOption(java.net.StandardSocketOptions.TCP_NODELAY, true);
      }
      wire = new Wire(channel, Selector.open());
      if (!channel.connect(target)) {
        do {
          wire.await(SelectionKey.OP_CONNECT, deadline);
        } while (!channel.finishConnect());
      }
      return address.tls() ? TlsWire.handshake(wire, tls, address, deadline) : wire;
    } catch (IOException | RuntimeException failed) {
      if (wire != null) {
        wire.close();
      } else {
        channel.close();
      }
      throw failed;
    }
  }

  /** Writes all of it. */
  void write(ByteBuffer bytes, Deadline deadline) throws IOException {
    while (true) {
      writeSome(bytes);
      if (!bytes.hasRemaining()) {
        return;
      }
      await(SelectionKey.OP_WRITE, deadline);
    }
  }

  /** Reads at least one byte; -1 at the end. */
  int read(ByteBuffer into, Deadline deadline) throws IOException {
    while (true) {
      int count = readSome(into);
      if (count != 0) {
        return count;
      }
      await(SelectionKey.OP_READ, deadline);
    }
  }

  /** What has arrived: 0 for nothing, -1 at the end. Does not wait. */
  int readSome(ByteBuffer into) throws IOException {
    try {
      return channel.read(into);
    } catch (ClosedByInterruptException interrupted) {
      throw new Deadline.InterruptedCallException();
    }
  }

  private void writeSome(ByteBuffer bytes) throws IOException {
    try {
      channel.write(bytes);
    } catch (ClosedByInterruptException interrupted) {
      throw new Deadline.InterruptedCallException();
    }
  }

  /** Waits until the channel is ready. */
  final void await(int operation, Deadline deadline) throws IOException {
    key.interestOps(operation);
    while (true) {
      long left = deadline.nanosLeft();
      if (left == 0) {
        throw new Deadline.PassedException("the agent did not answer in time");
      }
      // Rounded up, so that the last part of a millisecond is no busy loop.
      int ready = selector.select(TimeUnit.NANOSECONDS.toMillis(left) + 1);
      if (Thread.currentThread().isInterrupted()) {
        throw new Deadline.InterruptedCallException();
      }
      if (ready > 0) {
        selector.selectedKeys().clear();
        return;
      }
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException ignored) {
      // The connection is gone in any case.
    }
    try {
      selector.close(); // releases the channel's descriptor
    } catch (IOException ignored) {
      // The same.
    }
  }
}
