package dev.sluice.client.internal;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;

/** TLS over a wire. */
final class TlsWire extends Wire {
  private final Wire below;
  private final SSLEngine engine;
  private final ByteBuffer encryptedIn; // ready to be read from
  private final ByteBuffer encryptedOut;
  private final ByteBuffer plain; // decrypted and not yet read; ready to be read from

  private TlsWire(Wire below, SSLEngine engine) {
    super(below);
    this.below = below;
    this.engine = engine;
    encryptedIn = ByteBuffer.allocate(engine.getSession().getPacketBufferSize() * 2).limit(0);
    encryptedOut = ByteBuffer.allocate(engine.getSession().getPacketBufferSize());
    plain = ByteBuffer.allocate(engine.getSession().getApplicationBufferSize() * 2).limit(0);
  }

  static TlsWire handshake(Wire below, SSLContext context, Address address, Deadline deadline) throws IOException {
    SSLEngine engine = context.createSSLEngine(address.host(), address.port());
    engine.setUseClientMode(true);
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS"); // the certificate must be for this host
    parameters.setProtocols(new String[] {"TLSv1.3", "TLSv1.2"});
    if (!address.host().matches("[0-9.]+|.*:.*")) {
      parameters.setServerNames(java.util.List.of(new SNIHostName(address.host())));
    }
    engine.setSSLParameters(parameters);
    TlsWire wire = new TlsWire(below, engine);
    engine.beginHandshake();
    wire.shakeHands(deadline);
    return wire;
  }

  private void shakeHands(Deadline deadline) throws IOException {
    while (true) {
      HandshakeStatus status = engine.getHandshakeStatus();
      switch (status) {
        case NEED_WRAP -> wrap(ByteBuffer.allocate(0), deadline);
        case NEED_UNWRAP, NEED_UNWRAP_AGAIN -> {
          if (!unwrap() && fill() == 0) {
            below.await(SelectionKey.OP_READ, deadline);
          }
        }
        case NEED_TASK -> {
          Runnable task;
          while ((task = engine.getDelegatedTask()) != null) {
            task.run();
          }
        }
        default -> {
          return;
        }
      }
    }
  }

  @Override
  void write(ByteBuffer bytes, Deadline deadline) throws IOException {
    do {
      wrap(bytes, deadline);
    } while (bytes.hasRemaining());
  }

  @Override
  int readSome(ByteBuffer into) throws IOException {
    while (!plain.hasRemaining()) {
      if (engine.isInboundDone()) {
        return -1;
      }
      if (unwrap()) {
        continue;
      }
      if (engine.isInboundDone()) {
        return -1;
      }
      int count = fill();
      if (count <= 0) {
        return count;
      }
    }
    int count = Math.min(plain.remaining(), into.remaining());
    into.put(plain.slice(plain.position(), count));
    plain.position(plain.position() + count);
    return count;
  }

  private void wrap(ByteBuffer bytes, Deadline deadline) throws IOException {
    encryptedOut.clear();
    SSLEngineResult result = engine.wrap(bytes, encryptedOut);
    if (result.getStatus() == SSLEngineResult.Status.CLOSED) {
      throw new SSLException("the TLS connection is closed");
    }
    encryptedOut.flip();
    below.write(encryptedOut, deadline);
  }

  /** Decrypts one record, if there is a whole one. Returns whether it did. */
  private boolean unwrap() throws IOException {
    if (!encryptedIn.hasRemaining()) {
      return false;
    }
    plain.compact();
    SSLEngineResult result;
    try {
      result = engine.unwrap(encryptedIn, plain);
    } finally {
      plain.flip();
    }
    if (result.getHandshakeStatus() == HandshakeStatus.NEED_TASK) {
      Runnable task;
      while ((task = engine.getDelegatedTask()) != null) {
        task.run();
      }
    }
    return result.getStatus() == SSLEngineResult.Status.OK;
  }

  /** Reads what has arrived: the number of bytes, 0 for none. A connection that ends in a handshake is an error. */
  private int fill() throws IOException {
    encryptedIn.compact();
    int count;
    try {
      count = below.readSome(encryptedIn);
    } finally {
      encryptedIn.flip();
    }
    if (count < 0 && engine.getHandshakeStatus() != HandshakeStatus.NOT_HANDSHAKING) {
      throw new SSLException("the agent closed the connection during the TLS handshake");
    }
    return count;
  }

  @Override
  public void close() {
    below.close(); // without close_notify: the agent learns the length of a request from its head
  }
}
