/**
 * The client of a Sluice agent: asks whether a request may pass. {@link dev.sluice.client.SluiceClient} begins here.
 */
package dev.sluice.client;
