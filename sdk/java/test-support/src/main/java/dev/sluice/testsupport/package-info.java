/** What the tests of the modules share: a real agent, and what every integration with a web framework must pass. */
package dev.sluice.testsupport;
