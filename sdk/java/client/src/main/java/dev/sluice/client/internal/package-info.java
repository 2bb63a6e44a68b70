/** Not for use by others: it may change in any release. */
package dev.sluice.client.internal;
