/** What all integrations with web frameworks do in the same way. */
package dev.sluice.client.web;
