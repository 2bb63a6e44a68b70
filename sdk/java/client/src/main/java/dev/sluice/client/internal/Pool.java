package dev.sluice.client.internal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/** The connections of one client. Safe for use by many threads. */
public final class Pool {
  private static final long MAX_IDLE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final Address address;
  private final SSLContext tls;
  private final Semaphore places;
  private final Deque<HttpConnection> idle = new ArrayDeque<>(); // the one used last comes first
  private boolean closed;

  public Pool(Address address, SSLContext tls, int connections) {
    this.address = address;
    this.tls = tls;
    this.places = new Semaphore(connections, true);
  }

  /** No connection could be opened. */
  public static final class UnreachableException extends IOException {
    private static final long serialVersionUID = 1L;

    UnreachableException(IOException cause) {
      super(cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage(), cause);
    }
  }

  /**
   * Sends a call once, and reads its reply.
   *
   * @param head the request line and headers but the length
   * @param repeatable the call may be sent once more on a new connection
   */
  public Reply call(String head, String body, boolean repeatable, Deadline deadline) throws IOException {
    takePlace(deadline);
    try {
      return onConnection(HttpConnection.request(head, body), repeatable, deadline);
    } finally {
      places.release();
    }
  }

  private void takePlace(Deadline deadline) throws IOException {
    if (places.tryAcquire()) {
      return;
    }
    try {
      if (!places.tryAcquire(deadline.nanosLeft(), TimeUnit.NANOSECONDS)) {
        throw new Deadline.PassedException("all connections of the client are in use");
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new Deadline.InterruptedCallException();
    }
  }

  private Reply onConnection(ByteBuffer request, boolean repeatable, Deadline deadline) throws IOException {
    boolean repeated = false;
    while (true) {
      if (Thread.currentThread().isInterrupted()) {
        throw new Deadline.InterruptedCallException();
      }
      HttpConnection kept = takeIdle();
      HttpConnection connection = kept != null ? kept : open(deadline);
      boolean done = false;
      try {
        Reply reply = connection.call(request.rewind(), deadline);
        done = true;
        if (reply.reusable()) {
          giveBack(connection);
        } else {
          connection.close();
        }
        return reply;
      } catch (Deadline.PassedException | Deadline.InterruptedCallException over) {
        throw over;
      } catch (SSLException refused) {
        // With TLS 1.3 the agent refuses a certificate after the handshake.
        throw new UnreachableException(refused);
      } catch (IOException broken) {
        boolean again = kept != null && !connection.sent();
        if (!again && repeatable && !repeated) {
          repeated = true;
          again = true;
        }
        if (!again) {
          throw broken;
        }
      } finally {
        if (!done) {
          connection.close();
        }
      }
    }
  }

  private HttpConnection open(Deadline deadline) throws IOException {
    try {
      return HttpConnection.open(address, tls, deadline);
    } catch (Deadline.PassedException | Deadline.InterruptedCallException over) {
      throw over;
    } catch (IOException failed) {
      throw new UnreachableException(failed);
    }
  }

  private HttpConnection takeIdle() {
    closeOld();
    while (true) {
      HttpConnection found;
      synchronized (this) {
        found = idle.pollFirst();
      }
      if (found == null || found.usable()) {
        return found;
      }
      found.close();
    }
  }

  private void closeOld() {
    List<HttpConnection> old = new ArrayList<>();
    long now = System.nanoTime();
    synchronized (this) {
      while (!idle.isEmpty() && now - idle.peekLast().idleSince > MAX_IDLE_NANOS) {
        old.add(idle.pollLast());
      }
    }
    old.forEach(HttpConnection::close);
  }

  private void giveBack(HttpConnection connection) {
    connection.idleSince = System.nanoTime();
    synchronized (this) {
      if (!closed) {
        idle.addFirst(connection);
        return;
      }
    }
    connection.close();
  }

  /** Closes idle connections at once, and those in use after their call. */
  public void close() {
    List<HttpConnection> all;
    synchronized (this) {
      closed = true;
      all = new ArrayList<>(idle);
      idle.clear();
    }
    all.forEach(HttpConnection::close);
  }
}
