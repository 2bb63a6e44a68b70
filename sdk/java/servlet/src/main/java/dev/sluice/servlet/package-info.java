/** Limits requests of any Servlet 6 container: {@link dev.sluice.servlet.SluiceFilter}. */
package dev.sluice.servlet;
