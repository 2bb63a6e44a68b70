package dev.sluice.client;

/** A decision, and the lease that it took, which {@link #close()} gives back. */
public interface Lease extends AutoCloseable {
  /** The decision. Without a lease in it there is nothing to give back. */
  Decision decision();

  /** Whether a renewal found the lease gone; only if it is kept alive. */
  boolean lost();

  /** Gives the lease back. Throws nothing; a second call does nothing. */
  @Override
  void close();
}
