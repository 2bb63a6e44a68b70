/** Metrics of a client: {@link dev.sluice.micrometer.MeteredSluice}. */
package dev.sluice.micrometer;
