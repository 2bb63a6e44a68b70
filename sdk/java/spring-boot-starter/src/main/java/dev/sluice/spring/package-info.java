/** Sluice for Spring Boot 3: properties {@code sluice.*} and {@link dev.sluice.spring.RateLimited}. */
package dev.sluice.spring;
