/** Stands for an agent in tests. */
package dev.sluice.client.testing;
